// Every kind of key value: lookup, order, uniqueness, undo, messages, and its handling through the
// catalogue alone.

#include <chainbase/database.hpp>
#include <chainbase/object/key_reader.hpp>
#include <chainbase/offline/check/state_check.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/snapshot.hpp>
#include <tests/support/temporary_folder.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

__extension__ typedef __int128 wide;

namespace keyed {

/// Described, compared as a whole.
struct place {
    std::int32_t x = 0;
    std::int32_t y = 0;
    friend bool operator==(const place&, const place&) = default;
};
BOOST_DESCRIBE_STRUCT(place, (), (x, y))

/// Has only an order.
struct grade {
    std::int32_t value = 0;
    friend bool operator<(const grade& a, const grade& b) { return a.value < b.value; }
};

/// Not described; compared and hashed by its last digit.
struct last_digit {
    std::uint32_t number = 0;
    friend bool operator==(const last_digit& a, const last_digit& b) {
        return a.number % 10 == b.number % 10;
    }
};
void hash_append(keyed_hash& to, const last_digit& value) {
    to.add(std::uint64_t{value.number % 10});
}

struct without_case {
    static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
    bool operator()(std::string_view a, std::string_view b) const {
        return std::ranges::lexicographical_compare(a, b, {}, lower, lower);
    }
};

struct thing;
std::int64_t worth(const thing&);

struct by_digest;
struct by_place;
struct by_grade;
struct by_digit;
struct by_name;
struct by_worth;
struct by_sum;
struct by_wide;
struct by_seal;
struct by_bytes;
struct by_words;

struct thing {
    chainbase::id<thing> id;
    fixed_string<16> name;
    fixed_bytes<32> digest;
    place at;
    grade rank;
    last_digit digit;
    wide amount = 0;
    shared_bytes seal;
    shared_vector<shared_string> words;
    std::array<std::uint8_t, 5> bytes{};

    using keys = chainbase::keys<
        hashed_unique<by_digest, &thing::digest>, hashed_unique<by_place, &thing::at>,
        ordered_non_unique<by_grade, descending<&thing::rank>, &thing::id>,
        hashed_non_unique<by_digit, &thing::digit>,
        ordered_unique<by_name, compared_by<&thing::name, without_case>>,
        ordered_non_unique<by_worth, worth>,
        ordered_non_unique<by_sum, [](const auto& a) { return a.at.x + a.at.y; },
                           descending<&thing::amount>>,
        ordered_unique<by_wide, &thing::amount>, hashed_non_unique<by_seal, &thing::seal>,
        ordered_unique<by_bytes, &thing::bytes>, hashed_unique<by_words, &thing::words>>;
};
BOOST_DESCRIBE_STRUCT(thing, (), (id, name, digest, at, rank, digit, amount, seal, words, bytes))

std::int64_t worth(const thing& of) {
    return of.at.x * 2;
}

} // namespace keyed

using namespace keyed;

namespace {

wide wide_of(int n) {
    return -(wide{n} << 70);
}

fixed_bytes<32> digest_of(int n) {
    fixed_bytes<32> digest;
    digest[31] = std::byte(n);
    return digest;
}

struct things {
    things() { open(); }
    void open() {
        db.reset();
        db.emplace(folder / "state", quick_options());
        db->add_type<thing>("thing");
    }
    static void fill(thing& one, int n) {
        one.name = "Name" + std::to_string(n);
        one.digest = digest_of(n);
        one.at = {n, 3};
        one.rank.value = n / 2;
        one.digit.number = static_cast<std::uint32_t>(n);
        one.amount = wide_of(n);
        one.seal = std::vector<std::byte>(static_cast<std::size_t>(n % 4), std::byte(n % 4));
        one.words = {"w", std::to_string(n)};
        one.bytes[2] = static_cast<std::uint8_t>(n);
    }
    void add(int from, int to) {
        for (int n = from; n < to; ++n)
            db->create<thing>([&](thing& one) { fill(one, n); });
    }
    void check(int count) const {
        for (int n = 0; n < count; ++n) {
            const auto wanted = static_cast<std::uint32_t>(n);
            const auto is_it = [&](const thing* found) {
                return found && found->id.value == wanted;
            };
            INFO(n);
            CHECK(is_it(db->find<thing, by_digest>(digest_of(n))));
            CHECK(is_it(db->find<thing, by_place>(place{n, 3})));
            CHECK(db->contains<thing, by_grade>(grade{n / 2}));
            CHECK(db->count<thing, by_digit>(last_digit{wanted + 30}) ==
                  static_cast<std::size_t>((count - 1 - n % 10) / 10 + 1));
            CHECK(is_it(db->find<thing, by_name>("nAME" + std::to_string(n))));
            CHECK(is_it(db->find<thing, by_worth>(2 * n)));
            CHECK(is_it(db->find<thing, by_sum>(n + 3)));
            CHECK(is_it(db->find<thing, by_sum>(std::tuple(n + 3, wide_of(n)))));
            CHECK(is_it(db->find<thing, by_wide>(wide_of(n))));
            CHECK(is_it(db->find<thing, by_bytes>(db->get(id<thing>(wanted)).bytes)));
            CHECK(is_it(db->find<thing, by_words>(db->get(id<thing>(wanted)).words)));
            shared_bytes seal;
            seal = std::vector<std::byte>(static_cast<std::size_t>(n % 4), std::byte(n % 4));
            CHECK(db->count<thing, by_seal>(seal) ==
                  static_cast<std::size_t>((count - 1 - n % 4) / 4 + 1));
        }
    }

    scratch_folder folder;
    std::optional<database> db;
};

template <typename Change>
std::string taken(things& s, Change&& change) {
    return message_of<duplicate_key_error>(
        [&] { s.db->modify(s.db->get(id<thing>(1)), std::forward<Change>(change)); });
}

} // namespace

TEST_CASE("keys of every kind of value find their objects, and come back with undo") {
    things s;
    s.add(0, 50);
    s.check(50);
    const snapshot before(s.db->memory());
    {
        auto session = s.db->start_session();
        s.add(50, 60);
        for (int n = 0; n < 50; n += 3)
            s.db->modify(s.db->get(id<thing>(static_cast<std::uint32_t>(n))),
                         [&](thing& one) { things::fill(one, n + 100); });
        CHECK(s.db->find<thing, by_name>("name3") == nullptr);
        CHECK(s.db->get<thing, by_name>("NAME103").id.value == 3);
    }
    CHECK(snapshot(s.db->memory()) == before);
    s.check(50);
    s.open();
    s.check(50);
}

TEST_CASE("an order that a comparator or an operator< makes is the key's") {
    things s;
    s.add(0, 20);
    s.db->modify(s.db->get(id<thing>(7)), [](thing& one) { one.name = "a"; });
    s.db->modify(s.db->get(id<thing>(9)), [](thing& one) { one.name = "B"; });
    const auto names = s.db->view<thing, by_name>();
    CHECK(names.begin()->name.view() == "a");
    CHECK(std::next(names.begin())->name.view() == "B");
    std::vector<std::int32_t> ranks;
    for (const thing& one : s.db->view<thing, by_grade>())
        ranks.push_back(one.rank.value);
    CHECK(std::ranges::is_sorted(ranks, std::greater()));
}

TEST_CASE("the message of a key that is taken shows its value as the tools print it") {
    things s;
    s.add(0, 5);
    CHECK_THAT(taken(s, [](thing& one) { one.digest = digest_of(2); }),
               Contains("(" + std::string(62, '0') + "02)") && Contains("object 2"));
    CHECK_THAT(taken(s, [](thing& one) { one.amount = wide_of(2); }),
               Contains("(-2361183241434822606848)"));
    CHECK_THAT(taken(s, [](thing& one) { one.at = {2, 3}; }), Contains("{x: 2, y: 3}"));
    CHECK_THAT(taken(s, [](thing& one) { one.bytes = {0, 0, 3, 0, 0}; }), Contains("0000030000"));
    CHECK_THAT(taken(s, [](thing& one) { one.name = "nAmE4"; }), Contains("\"nAmE4\""));
    CHECK_THAT(taken(s, [](thing& one) { one.words = {"w", "4"}; }), Contains("[\"w\",\"4\"]"));
}

namespace {

void collect(const check::part_report& part, std::string& found, std::string& not_checked) {
    for (const check::finding& one : part.findings)
        found += one.what + '\n';
    for (const std::string& one : part.not_checked)
        not_checked += part.name + ": " + one + '\n';
    for (const check::part_report& below : part.parts)
        collect(below, found, not_checked);
}

} // namespace

TEST_CASE("the catalogue alone orders and hashes what it describes, and says what it cannot") {
    things s;
    s.add(0, 50);
    const type_schema schema = s.db->memory().types().find("thing")->schema;
    s.db->close();
    s.db.reset();
    std::string found;
    std::string not_checked;
    collect(check::state_check(s.folder / "state").report(), found, not_checked);
    CHECK(found == "");
    for (const char* key : {"by_digest", "by_place", "by_wide", "by_seal", "by_bytes", "by_words"})
        CHECK_THAT(not_checked, !Contains(key));
    for (const char* key : {"by_grade", "by_digit", "by_name", "by_worth", "by_sum"})
        CHECK_THAT(not_checked, Contains(key));
}

TEST_CASE("fixed_bytes reads and writes hexadecimal digits, and says what is wrong with others") {
    using bytes = fixed_bytes<4>;
    CHECK(bytes::parse("00ffAB10").hex() == "00ffab10");
    CHECK(bytes::parse("0x00ffab10") == bytes::parse("00FFAB10"));
    CHECK(bytes::parse("00000001") < bytes::parse("00000100"));
    CHECK(bytes::parse("7f000000") < bytes::parse("80000000"));
    CHECK_THAT(message_of<usage_error>([] { (void)bytes::parse("00ffab"); }),
               Contains("6 hexadecimal digits, 8 are needed"));
    CHECK_THAT(message_of<usage_error>([] { (void)bytes::parse("00ffagg0"); }),
               Contains("'g' is not a hexadecimal digit"));
    const std::vector<std::byte> three(3);
    CHECK_THAT(message_of<usage_error>([&] { (void)bytes(std::span(three)); }),
               Contains("4 bytes, not from 3"));
}

TEST_CASE("a text that does not fit a fixed_string is told whole, zero bytes and all") {
    things s;
    s.add(0, 1);
    const auto assign = [&](const std::string& text) {
        return message_of<usage_error>(
            [&] { s.db->modify(s.db->get(id<thing>(0)), [&](thing& one) { one.name = text; }); });
    };
    CHECK_THAT(assign(std::string("a\0b", 3)), Contains("\"a\\x00b\" of 3 bytes"));
    CHECK_THAT(assign(std::string(200, 'x')), Contains("of 200 bytes") && Contains("at most 16"));
}
