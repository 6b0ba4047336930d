// Member values: vectors, large buffers, large changes; and functions that throw midway.

#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/snapshot.hpp>
#include <tests/support/temporary_folder.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

// Bytes and vectors of structs as members: stored, compared, undone, and read after reopening.

namespace {

struct entry_of_basket {
    std::uint64_t product;
    std::uint32_t count;
    std::int32_t discount;
    friend bool operator==(const entry_of_basket&, const entry_of_basket&) = default;
};

struct basket {
    chainbase::id<basket> id;
    std::uint32_t owner = 0;
    shared_bytes seal;
    shared_vector<entry_of_basket> entries;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(basket, (), (id, owner, seal, entries))

std::vector<std::byte> bytes_of(std::size_t length, std::uint64_t seed) {
    random_source random(seed);
    std::vector<std::byte> bytes(length);
    for (std::byte& b : bytes)
        b = static_cast<std::byte>(random.below(256));
    return bytes;
}

std::vector<entry_of_basket> entries_of(std::size_t count, std::uint64_t seed) {
    random_source random(seed);
    std::vector<entry_of_basket> entries(count);
    for (entry_of_basket& e : entries)
        e = {random.next(), random.below(10), -static_cast<std::int32_t>(random.below(10))};
    return entries;
}

struct baskets {
    baskets() { open(); }
    void open() {
        db.reset();
        db.emplace(folder / "state", quick_options());
        db->add_type<basket>("basket");
    }
    const basket& add(std::size_t count, std::uint64_t seed) {
        return db->create<basket>([&](basket& b) { put(b, count, seed); });
    }
    static void put(basket& b, std::size_t count, std::uint64_t seed) {
        const auto bytes = bytes_of(count * 3, seed);
        const auto entries = entries_of(count, seed);
        b.seal = std::span<const std::byte>(bytes);
        b.entries = std::span<const entry_of_basket>(entries);
    }
    void check(std::uint32_t number, std::size_t count, std::uint64_t seed) const {
        const basket& b = db->get(id<basket>(number));
        INFO("basket " << number);
        CHECK(b.seal.size() == count * 3);
        CHECK(b.entries.size() == count);
        CHECK(std::ranges::equal(b.seal, bytes_of(count * 3, seed)));
        CHECK(std::ranges::equal(b.entries, entries_of(count, seed)));
    }
    [[nodiscard]] snapshot now() { return snapshot(db->memory()); }

    scratch_folder folder;
    std::optional<database> db;
};

} // namespace

TEST_CASE("bytes and vectors of structures of any length are kept and undone") {
    baskets s;
    const std::size_t counts[] = {0, 1, 2, 5, 100, 4000, 5000, 70'000};
    std::uint32_t next = 0;
    for (const std::size_t count : counts)
        s.add(count, next++);
    const snapshot before = s.now();
    {
        auto session = s.db->start_session();
        for (std::uint32_t i = 0; i < next; ++i)
            s.db->modify(s.db->get(id<basket>(i)),
                         [&](basket& b) { baskets::put(b, counts[next - 1 - i], 100 + i); });
        for (std::uint32_t i = 0; i < next; ++i)
            s.check(i, counts[next - 1 - i], 100 + i);
        s.db->remove(s.db->get(id<basket>(5)));
        s.db->modify(s.db->get(id<basket>(1)), [&](basket& b) {
            b.entries = s.db->get(id<basket>(2)).entries; // from another object
            b.seal = std::span<const std::byte>();
        });
        CHECK(s.db->get(id<basket>(1)).entries == s.db->get(id<basket>(2)).entries);
        CHECK(s.db->get(id<basket>(1)).seal.empty());
    }
    CHECK(s.now() == before);
    s.open();
    for (std::uint32_t i = 0; i < next; ++i)
        s.check(i, counts[i], i);
}

TEST_CASE("changes tells the bytes and vectors that were") {
    baskets s;
    s.add(50, 1);
    auto session = s.db->start_session();
    s.db->modify(s.db->get(id<basket>(0)), [](basket& b) { baskets::put(b, 7, 2); });
    const auto changes = s.db->changes(session.revision()).of<basket>();
    REQUIRE(changes.size() == 1);
    REQUIRE(changes[0].before);
    CHECK(std::ranges::equal(changes[0].before->seal, bytes_of(150, 1)));
    CHECK(std::ranges::equal(changes[0].before->entries, entries_of(50, 1)));
    s.check(0, 7, 2);
}

// Strings larger than any size class are stored in page runs.

namespace {

struct labels {
    labels() : db(folder / "state", quick_options()) { db.add_type<label>("label"); }
    const label& add(std::string_view text) {
        return db.create<label>([&](label& l) { l.text = text; });
    }
    [[nodiscard]] usage runs() { return db.memory().buffers().measure_runs(); }
    [[nodiscard]] snapshot now() { return snapshot(db.memory()); }
    scratch_folder folder;
    database db;
};

std::string text_of(char c, std::size_t bytes) {
    return std::string(bytes, c);
}

} // namespace

TEST_CASE("a large string is kept whole, freed and used again") {
    labels s;
    const label& a = s.add(text_of('a', 65'537));
    CHECK(s.runs().slots_live == 17);
    const label& b = s.add(text_of('b', 1'000'000));
    CHECK(a.text.view() == text_of('a', 65'537));
    CHECK(b.text.view() == text_of('b', 1'000'000));
    const auto live = s.runs().slots_live;
    s.db.modify(a, [](label& l) { l.text = text_of('c', 65'537); });
    CHECK(s.runs().slots_live == live);
    CHECK(s.db.find<label, by_text>(text_of('c', 65'537)) == &a);
    CHECK(s.db.find<label, by_text>(text_of('a', 65'537)) == nullptr);
    s.db.remove(a);
    s.db.remove(b);
    CHECK(s.runs().slots_live == 0);
}

TEST_CASE("free runs merge with both neighbours") {
    labels s;
    std::vector<const label*> all;
    for (int i = 0; i < 9; ++i)
        all.push_back(&s.add(text_of(static_cast<char>('a' + i), 100'000)));
    const auto used = s.runs().slots_live + s.runs().slots_free;
    for (const int i : {0, 2, 4, 6, 8, 7, 1, 5, 3}) // single, before, after, between
        s.db.remove(*all[static_cast<std::size_t>(i)]);
    CHECK(s.runs().slots_live == 0);
    s.add(text_of('z', used * 4096)); // all as one run
    CHECK(s.runs().slots_free == 0);
    CHECK(s.runs().slots_live == used);
}

TEST_CASE("runs come back bit for bit") {
    labels s;
    const label& a = s.add(text_of('a', 300'000));
    s.add(text_of('b', 70'000));
    s.db.remove(s.add(text_of('c', 150'000)));
    const snapshot before = s.now();
    {
        auto session = s.db.start_session();
        s.db.modify(a, [](label& l) { l.text = text_of('d', 90'000); });
        s.add(text_of('e', 250'000));
        s.add(text_of('f', 100'000));
        s.db.remove(a);
        s.add(text_of('g', 800'000));
    }
    CHECK(s.now() == before);
    CHECK(a.text.view() == text_of('a', 300'000));
}

TEST_CASE("strings of every length around the classes are kept and freed") {
    labels s;
    const auto nothing = s.db.memory().buffers().measure();
    for (const std::size_t length :
         {0,    1,    15,   16,   17,     32,     33,     47,     48,     49,     63,
          64,   65,   96,   97,   127,    128,    129,    191,    192,    193,    4095,
          4096, 4097, 6144, 6145, 49'152, 49'153, 65'535, 65'536, 65'537, 69'632, 69'633}) {
        const std::string text = text_of('x', length);
        const label& l = s.add(text);
        CHECK(l.text.view() == text);
        CHECK(s.db.find<label, by_text>(text) == &l);
        s.db.remove(l);
    }
    CHECK(s.db.memory().buffers().measure().slots_live == nothing.slots_live);
}

// A user who chooses keys cannot choose their hashes, which depend on the state's random seed.

namespace {

struct wide {
    chainbase::id<wide> id;
    std::uint32_t value = 0;
    std::uint64_t key = 0;

    using keys = chainbase::keys<hashed_unique<by_key, &wide::key>>;
};
BOOST_DESCRIBE_STRUCT(wide, (), (id, value, key))

constexpr std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t found = 1;
    for (int i = 0; i < 6; ++i)
        found *= 2 - odd * found;
    return found;
}

/// A number whose hash under MurmurHash3's public finaliser is `hash`.
constexpr std::uint64_t number_of_hash(std::uint32_t hash, std::uint32_t more) {
    std::uint64_t h = std::uint64_t{hash} << 32 | more;
    h ^= h >> 33;
    h *= inverse(0xC4CE'B9FE'1A85'EC53U);
    h ^= h >> 33;
    h *= inverse(0xFF51'AFD7'ED55'8CCDU);
    return h ^ h >> 33;
}

/// The bytes of the hash table of `wide`, from its first area on.
std::string table_of_wide(const std::filesystem::path& state) {
    return read_all(state / "segment/wide.0.hash").substr(window_header::page_bytes);
}

} // namespace

TEST_CASE("keys that were chosen for one hash are spread as others are") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    db.add_type<wide>("wide");
    constexpr std::uint32_t count = 60'000;
    for (std::uint32_t i = 0; i < count; ++i)
        db.create<wide>([&](wide& w) { w.key = number_of_hash(77, i); });
    // The log space of a removal grows with the run of entries that it shifts.
    auto block = db.start_session();
    undo_log& log = *db.memory().log();
    std::uint64_t most = 0;
    for (std::uint32_t i = 0; i < count; i += 100) {
        const std::uint64_t before = log.bytes_in_use();
        db.remove(db.get(id<wide>(i)));
        most = std::max(most, log.bytes_in_use() - before);
    }
    CHECK(most < 16 << 10);
    block.undo();
    for (const wide& each : db.objects<wide>())
        REQUIRE(db.find<wide, by_key>(each.key) == &each);
}

TEST_CASE("two states hash the same keys in ways of their own") {
    const scratch_folder folder;
    std::string tables[2];
    for (int number = 0; number < 2; ++number) {
        const auto state = folder / std::to_string(number);
        {
            database db(state, quick_options());
            db.add_type<wide>("wide");
            for (std::uint32_t i = 0; i < 100; ++i)
                db.create<wide>([&](wide& w) { w.key = i; });
        }
        tables[number] = table_of_wide(state);
        database db(state, quick_options());
        db.add_type<wide>("wide");
        for (std::uint32_t i = 0; i < 100; ++i)
            CHECK(db.find<wide, by_key>(i) != nullptr);
    }
    CHECK(tables[0].size() == tables[1].size());
    CHECK(tables[0] != tables[1]);
}

// A caller's exception passes through; the state is unchanged.

namespace {

struct from_the_caller {};

} // namespace

TEMPLATE_TEST_CASE("a modifier that throws half way changes nothing", "", item, card) {
    one_type<TestType> s;
    const TestType& a = s.add(1, 4);
    const auto fail = [&] {
        const snapshot before = s.now();
        CHECK_THROWS_AS(s.db.modify(a,
                                    [](TestType& t) {
                                        t.value = 1;
                                        t.key = 8;
                                        throw from_the_caller();
                                    }),
                        from_the_caller);
        CHECK(s.now() == before);
    };
    fail();
    auto session = s.db.start_session();
    fail();
    s.db.modify(a, [](TestType& t) { t.value = 2; });
    fail();
    CHECK(a.value == 2);
    session.undo();
    CHECK(a.value == 0);
    CHECK(s.at(1) == &a);
}

TEMPLATE_TEST_CASE("a modifier that throws leaves an object that is new in the session", "", item,
                   card, ticket) {
    one_type<TestType> s;
    s.add(1, 4);
    const snapshot begin = s.now();
    auto session = s.db.start_session();
    const TestType& fresh = s.add(2, 5);
    const snapshot before = s.now();
    for (int round = 0; round < 2; ++round) {
        CHECK_THROWS_AS(s.db.modify(fresh,
                                    [](TestType& t) {
                                        t.value = 1;
                                        t.key = 8;
                                        t.group = 9;
                                        throw from_the_caller();
                                    }),
                        from_the_caller);
        CHECK(s.now() == before);
        CHECK(s.at(2) == &fresh);
    }
    s.set_key(fresh, 3);
    CHECK(s.at(3) == &fresh);
    session.undo();
    CHECK(s.now() == begin);
}

TEMPLATE_TEST_CASE("an initialiser that throws creates nothing", "", item, card) {
    one_type<TestType> s;
    s.add(1);
    const snapshot before = s.now();
    CHECK_THROWS_AS(s.create([](TestType& t) {
        t.key = 2;
        throw from_the_caller();
    }),
                    from_the_caller);
    CHECK(s.now() == before);
    CHECK(s.at(2) == nullptr);
    CHECK(s.add(2).id.value == 1);
}

TEMPLATE_TEST_CASE("an initialiser that throws in a slot freed in the same session leaves the free "
                   "list whole",
                   "", item, card) {
    one_type<TestType> s;
    auto session = s.db.start_session();
    for (std::uint32_t k = 0; k < 10; ++k)
        s.add(k);
    for (std::uint32_t k = 0; k < 9; ++k)
        s.db.remove(*s.at(k));
    const snapshot before = s.now();
    CHECK_THROWS_AS(s.create([](TestType& t) {
        t.key = 100;
        throw from_the_caller();
    }),
                    from_the_caller);
    CHECK_THROWS_AS(s.add(9), duplicate_key_error);
    CHECK(s.now() == before);
    for (std::uint32_t k = 0; k < 9; ++k)
        s.add(k);
    CHECK(s.at(9)->value == 0);
    for (std::uint32_t k = 0; k < 10; ++k)
        CHECK(s.at(k)->key == k);
    CHECK(s.count() == 10);
}

TEMPLATE_TEST_CASE("an id cannot be changed", "", item, card) {
    one_type<TestType> s;
    const TestType& a = s.add(1);
    const snapshot before = s.now();
    CHECK_THAT(message_of<usage_error>(
                   [&] { s.db.modify(a, [](TestType& t) { t.id = id<TestType>(9); }); }),
               Contains("thing") && Contains("id"));
    CHECK_THAT(
        message_of<usage_error>([&] { s.create([](TestType& t) { t.id = id<TestType>(9); }); }),
        Contains("thing") && Contains("id"));
    CHECK(s.now() == before);
}
