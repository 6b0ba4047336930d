// Keys and records: orders, encodings, malformed input.

#include <archive/lifecycle.hpp>
#include <archive/record/key.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/note.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>

#include <compare>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "support.hpp"

using namespace archive_test;

// Encoded keys sort like their values, alone and in tuples.

namespace {

int sign(std::strong_ordering order) {
    return order < 0 ? -1 : order > 0 ? 1 : 0;
}

int order_of(bytes_view a, bytes_view b) {
    return sign(as_text(a) <=> as_text(b));
}

template <typename T>
int order_of_values(const T& a, const T& b) {
    return a < b ? -1 : b < a ? 1 : 0;
}

template <typename V>
V random_number(random_source& random) {
    if (random.one_in(4)) {
        const V edges[] = {V(0), V(1), V(-1), std::numeric_limits<V>::min(),
                           std::numeric_limits<V>::max()};
        return edges[random.below(5)];
    }
    return static_cast<V>(random.next() >> random.below(64));
}

/// Compares the order of `count` random pairs of values with that of their keys, ascending and
/// descending.
template <typename Make>
void check_order(random_source& random, int count, Make make) {
    for (int i = 0; i < count; ++i) {
        const auto a = make(random);
        const auto b = random.one_in(8) ? a : make(random);
        REQUIRE(order_of(make_key(a), make_key(b)) == order_of_values(a, b));
        REQUIRE(order_of(make_key(archive::descending(a)), make_key(archive::descending(b))) ==
                order_of_values(b, a));
    }
}

enum class rank : std::int8_t { low = -3, mid = 0, high = 3 };

} // namespace

TEST_CASE_METHOD(seeded, "numbers order as numbers") {
    check_order(random, 5000, random_number<std::uint8_t>);
    check_order(random, 5000, random_number<std::int8_t>);
    check_order(random, 5000, random_number<std::uint16_t>);
    check_order(random, 5000, random_number<std::int16_t>);
    check_order(random, 5000, random_number<std::uint32_t>);
    check_order(random, 5000, random_number<std::int32_t>);
    check_order(random, 5000, random_number<std::uint64_t>);
    check_order(random, 5000, random_number<std::int64_t>);
    check_order(random, 5000, [](random_source& r) {
        return archive::detail::int128(random_number<std::int64_t>(r)) *
               random_number<std::int64_t>(r);
    });
}

TEST_CASE_METHOD(seeded, "bools, enums, ids and byte arrays order as what they stand for") {
    check_order(random, 50, [](random_source& r) { return r.one_in(2); });
    check_order(random, 50, [](random_source& r) { return rank(int(r.below(3)) * 3 - 3); });
    check_order(random, 1000,
                [](random_source& r) { return id<post>(random_number<std::uint32_t>(r)); });
    check_order(random, 1000, [](random_source& r) {
        return std::array<std::uint8_t, 2>{std::uint8_t(r.next()), std::uint8_t(r.below(2))};
    });
}

TEST_CASE_METHOD(seeded, "text orders as bytes do, zero bytes and prefixes included") {
    check_order(random, 20000, [](random_source& r) { return random_bytes(r, 4); });
    check_order(random, 5000, random_author);
}

TEST_CASE_METHOD(seeded, "tuples order by their parts, whatever text they hold") {
    check_order(random, 20000, [](random_source& r) {
        return std::tuple(random_bytes(r, 2), random_bytes(r, 2), random_number<std::int16_t>(r));
    });
    check_order(random, 20000, [](random_source& r) {
        return std::pair(random_bytes(r, 2), std::tuple(r.below(2) == 0, random_bytes(r, 1)));
    });
}

TEST_CASE_METHOD(seeded, "a descending part orders backwards within its tuple only") {
    for (int i = 0; i < 20000; ++i) {
        const auto a =
            std::tuple(random_bytes(random, 2), random_bytes(random, 2), random.below(3));
        const auto b =
            std::tuple(random_bytes(random, 2), random_bytes(random, 2), random.below(3));
        const auto key = [](const auto& t) {
            return make_key(std::get<0>(t), archive::descending(std::get<1>(t)), std::get<2>(t));
        };
        const int expected = sign(std::tuple(std::get<0>(a), std::get<1>(b), std::get<2>(a)) <=>
                                  std::tuple(std::get<0>(b), std::get<1>(a), std::get<2>(b)));
        REQUIRE(order_of(key(a), key(b)) == expected);
    }
}

TEST_CASE("the key of the leading parts is a prefix of exactly the keys that start with them") {
    const byte_buffer alice = make_key("alice");
    CHECK(starts_with(make_key("alice", 7u), alice));
    CHECK(starts_with(make_key("alice", "permlink"), alice));
    CHECK_FALSE(starts_with(make_key("alice2", 7u), alice));
    CHECK_FALSE(starts_with(make_key(std::string("alice\0x", 7), 7u), alice));
}

TEST_CASE("the bytes of a key are those the header promises") {
    CHECK(as_text(make_key(std::uint16_t{0x0102})) == "\x01\x02");
    CHECK(as_text(make_key(std::int8_t{-1})) == "\x7f");
    CHECK(as_text(make_key(std::string("a\0b", 3))) == std::string("a\0\xff"
                                                                   "b\0\x01",
                                                                   6));
    CHECK(as_text(make_key(archive::descending(std::string("a")))) == "\x9e\xff\xfe");
    CHECK(as_text(make_key(true, id<post>(258))) == std::string("\1\0\0\1\2", 5));
}

/// What a state remembers of the keys of archived objects.
using namespace chainbase;
using namespace chainbase::test;
using filter = archive::detail::key_filter<note>;

TEST_CASE("a filter of several generations has every key and few others and is undone") {
    const std::uint64_t seed = test_seed(4);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    const scratch_folder folder;
    database state(folder / "state", small_state());
    filter keys(state, "note");
    CHECK(keys.empty());
    std::vector<std::uint64_t> added(60'000);
    session all = state.start_session();
    for (std::size_t n = 0; n < added.size(); ++n)
        keys.add(added[n] = random.next(), n);
    for (const std::uint64_t hash : added)
        REQUIRE(keys.may_have(hash));
    int wrong = 0;
    for (int n = 0; n < 10'000; ++n)
        wrong += keys.may_have(random.next()) ? 1 : 0;
    CHECK(wrong < 300);
    all.undo();
    CHECK(keys.empty());
    CHECK_FALSE(keys.may_have(added.front()));
}

// Objects survive their encoding; equal objects have equal bytes; one field is read in place.

TEST_CASE_METHOD(seeded, "a record gives back the object, and equal objects have equal bytes") {
    for (int i = 0; i < 2000; ++i) {
        const post before = random_post(random);
        const byte_buffer record = record_of(before);
        post after = random_post(random); // its old content must not remain
        decode(record, after);
        REQUIRE(after == before);
        REQUIRE(record_of(after) == record);
    }
}

TEST_CASE_METHOD(seeded, "each member is read from the record where it stands") {
    for (int i = 0; i < 500; ++i) {
        const post p = random_post(random);
        const byte_buffer record = record_of(p);
        const record_view<post> view(record);
        REQUIRE(view.get<&post::number>() == p.number);
        REQUIRE(view.get<&post::author>() == p.author.view());
        REQUIRE(view.get<&post::body>() == p.body);
        REQUIRE(view.get<&post::depth>() == p.depth);
        REQUIRE(view.get<&post::net_votes>() == p.net_votes);
        REQUIRE(view.get<&post::reward>() == p.reward);
        REQUIRE(view.get<&post::locked>() == p.locked);
        REQUIRE(view.get<&post::state>() == p.state);
        REQUIRE(view.get<&post::transaction>() == p.transaction);
        REQUIRE(view.get<&post::tags>() == p.tags);
        REQUIRE(same(view.get<&post::picture>(), {p.picture.data(), p.picture.size()}));
        REQUIRE(view.get<&post::last>().get<&price::base>() == p.last.base);
        REQUIRE(view.get<&post::last>().get<&price::inverted>() == p.last.inverted);
        REQUIRE(view.get<&post::shares>() == p.shares);
        const auto voters = view.get<&post::voters>();
        REQUIRE(std::equal(voters.begin(), voters.end(), p.voters.data(),
                           p.voters.data() + p.voters.size()));
        const auto prices = view.get<&post::prices>();
        REQUIRE(prices.size() == p.prices.size());
        for (std::size_t at = 0; at < prices.size(); ++at)
            REQUIRE(prices[at] == p.prices.data()[at]);
    }
}

TEST_CASE("text and bytes are views into the record, not copies") {
    post p;
    p.body = "the body";
    const byte_buffer record = record_of(p);
    const std::string_view body = record_view<post>(record).get<&post::body>();
    const auto* at = reinterpret_cast<const std::byte*>(body.data());
    CHECK(at > record.data());
    CHECK(at + body.size() <= record.data() + record.size());
}

TEST_CASE("reading a member decodes none behind it") {
    post p;
    p.author = "alice";
    const byte_buffer record = record_of(p);
    const bytes_view cut = bytes_view(record).first(4 + 4 + 4 + 5);
    CHECK(record_view<post>(cut).get<&post::author>() == "alice");
    CHECK_THROWS_AS((void)record_view<post>(cut).get<&post::body>(), damaged_error);
}

struct wide {
    char letter = 0;
    std::int64_t number = 0;
};
BOOST_DESCRIBE_STRUCT(wide, (), (letter, number))

TEST_CASE("the bytes of a record are those the header promises") {
    const byte_buffer record = record_of(wide{'z', -2});
    const std::string fields("z\xfe\xff\xff\xff\xff\xff\xff\xff", 9);
    CHECK(as_text(bytes_view(record).subspan(4)) == fields);
    CHECK(record_layout<wide>() == "{letter:char,number:i64}");
    CHECK(record_layout<post>() ==
          "{number:id,author:text<16>,body:text,depth:u8,net_votes:i32,reward:u64,locked:bool,"
          "state:enum i16,transaction:[u8;20],tags:[text;2],voters:[u64],picture:[enum u8],"
          "prices:[{base:i64,inverted:bool}],last:{base:i64,inverted:bool},"
          "shares:[{account:text<16>,weight:u16};2]}");
    // Fixed values: no compiler or change of ours may alter the disk format.
    CHECK(record_fingerprint<wide> == 0x6d6b7d59u);
}

TEST_CASE("encode appends") {
    byte_buffer buffer = record_of(wide{'a', 1});
    const std::size_t first = buffer.size();
    encode(wide{'b', 2}, buffer);
    CHECK(record_view<wide>(bytes_view(buffer).first(first)).get<&wide::letter>() == 'a');
    CHECK(record_view<wide>(bytes_view(buffer).subspan(first)).get<&wide::letter>() == 'b');
}

struct base_part {
    std::uint32_t first = 1;
};
BOOST_DESCRIBE_STRUCT(base_part, (), (first))
struct derived_part : base_part {
    archive::detail::int128 second = -1;
};
BOOST_DESCRIBE_STRUCT(derived_part, (base_part), (second))

TEST_CASE("members of bases come first, and 128 bits keep their sign") {
    derived_part before;
    before.second = -(archive::detail::int128(1) << 100);
    derived_part after{{7}, 0};
    const byte_buffer record = record_of(before);
    decode(record, after);
    CHECK(after.first == 1);
    CHECK((after.second == before.second));
    CHECK(record_layout<derived_part>() == "{first:u32,second:i128}");
    CHECK(record_view<derived_part>(record).get<&base_part::first>() == 1);
}

// --- another layout ------------------------------------------------------------------------------

namespace renamed {
struct wide {
    char letter = 0;
    std::int64_t amount = 0;
};
BOOST_DESCRIBE_STRUCT(wide, (), (letter, amount))
} // namespace renamed
namespace retyped {
struct wide {
    char letter = 0;
    std::uint64_t number = 0;
};
BOOST_DESCRIBE_STRUCT(wide, (), (letter, number))
} // namespace retyped
namespace reordered {
struct wide {
    std::int64_t number = 0;
    char letter = 0;
};
BOOST_DESCRIBE_STRUCT(wide, (), (number, letter))
} // namespace reordered
namespace moved {
struct wide {
    char letter = 0;
    std::int64_t number = 0;
};
BOOST_DESCRIBE_STRUCT(wide, (), (letter, number))
} // namespace moved

TEST_CASE("a record of another layout is a schema_error that shows the layout") {
    const byte_buffer record = record_of(wide{'a', 1});
    renamed::wide by_name;
    retyped::wide by_type;
    reordered::wide by_order;
    CHECK_THROWS_AS(decode(record, by_name), schema_error);
    CHECK_THROWS_AS(decode(record, by_type), schema_error);
    CHECK_THROWS_AS(decode(record, by_order), schema_error);
    CHECK_THROWS_AS(record_view<renamed::wide>(record), schema_error);
    CHECK_THROWS_WITH(decode(record, by_name), Catch::Contains("{letter:char,amount:i64}"));
}

TEST_CASE("the name of the type is no part of its layout") {
    moved::wide after;
    decode(record_of(wide{'a', 1}), after);
    CHECK(after.number == 1);
}

// Bytes that are no record: only typed errors naming type, field and offset; no out-of-bounds
// reads.

namespace {

/// The bytes at the end of a heap block, so that a sanitizer detects a read behind them.
struct exact_copy {
    explicit exact_copy(bytes_view bytes) : size(bytes.size()), memory(new std::byte[size]) {
        if (size != 0) std::memcpy(memory.get(), bytes.data(), size);
    }
    operator bytes_view() const { return {memory.get(), size}; }
    std::size_t size;
    std::unique_ptr<std::byte[]> memory;
};

/// Whether the bytes decode; any exception but the two typed errors ends the test.
bool decodes(bytes_view bytes) {
    post p;
    try {
        decode(bytes, p);
    } catch (const damaged_error&) {
        return false;
    } catch (const schema_error&) {
        return false;
    }
    // Accepted bytes are the only encoding of their value.
    REQUIRE(same(record_of(p), bytes));
    return true;
}

void view_all(bytes_view bytes) {
    try {
        const record_view<post> view(bytes);
        (void)view.get<&post::tags>();
        (void)view.get<&post::shares>();
        (void)view.get<&post::last>().get<&price::inverted>();
        for (const price& each : view.get<&post::prices>())
            (void)each;
    } catch (const damaged_error&) {
    } catch (const schema_error&) {
    }
}

} // namespace

TEST_CASE_METHOD(seeded,
                 "every prefix of a record, and a record with bytes behind it, is refused") {
    byte_buffer record = record_of(random_post(random));
    for (std::size_t size = 0; size < record.size(); ++size) {
        const exact_copy cut(bytes_view(record).first(size));
        REQUIRE_FALSE(decodes(cut));
        view_all(cut);
    }
    REQUIRE(decodes(record));
    record.push_back(std::byte{0});
    REQUIRE_FALSE(decodes(record));
}

TEST_CASE_METHOD(seeded, "changed bytes give typed errors or another record, never anything else") {
    int accepted = 0;
    for (int i = 0; i < 30000; ++i) {
        byte_buffer record = record_of(random_post(random));
        for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes)
            record[4 + random.below(record.size() - 4)] = std::byte(random.next());
        if (random.one_in(4)) record.resize(random.below(record.size()));
        const exact_copy bytes(record);
        accepted += decodes(bytes);
        view_all(bytes);
    }
    CHECK(accepted > 0); // changed numbers are valid: the test covers both outcomes
}

TEST_CASE_METHOD(seeded, "random bytes behind a right fingerprint give typed errors") {
    for (int i = 0; i < 30000; ++i) {
        byte_buffer record(4 + random.below(120));
        for (std::byte& byte : record)
            byte = random.one_in(2) ? std::byte{0} : std::byte(random.next());
        archive::detail::store_little(record.data(), record_fingerprint<post>);
        const exact_copy bytes(record);
        decodes(bytes);
        view_all(bytes);
    }
}

TEST_CASE("the error names type, field and offset") {
    post p;
    p.author = "alice";
    byte_buffer record = record_of(p);
    record[8] = std::byte{200};
    CHECK_THROWS_WITH(decode(record, p), Catch::Contains("archive_test::post") &&
                                             Catch::Contains("field author") &&
                                             Catch::Contains("offset 12"));
    record[8] = std::byte{5};
    record[14] = std::byte{0}; // a fixed_string cannot hold a zero byte
    CHECK_THROWS_WITH(decode(record, p), Catch::Contains("field author"));
}

struct flags {
    price inner;
};
BOOST_DESCRIBE_STRUCT(flags, (), (inner))

TEST_CASE("a bool is 0 or 1, and nested fields are named with their path") {
    flags f;
    byte_buffer record = record_of(f);
    record.back() = std::byte{2};
    CHECK_THROWS_WITH(decode(record, f), Catch::Contains("field inner.inverted"));
}

TEST_CASE("a count without elements behind it allocates nothing") {
    post p;
    byte_buffer record = record_of(p);
    const auto voters = record_view<post>(record).get<&post::voters>();
    REQUIRE(voters.empty());
    // The count of voters precedes the other empty sequences, the price and the shares.
    const std::size_t at = record.size() - (2 * (4 + 2)) - (8 + 1) - 3 * 4;
    archive::detail::store_little(record.data() + at, std::uint32_t{0xffffffff});
    CHECK_THROWS_WITH(decode(record, p), Catch::Contains("field voters"));
    CHECK_THROWS_WITH((void)record_view<post>(record).get<&post::picture>(),
                      Catch::Contains("field voters"));
}
