// Bytes and vectors of structures as members: kept, compared, undone, and there after opening
// again.

#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/snapshot.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

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
    [[nodiscard]] snapshot now() const { return snapshot(db->memory()); }

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
    const auto changes = s.db->changes<basket>(session.revision());
    REQUIRE(changes.size() == 1);
    REQUIRE(changes[0].before);
    CHECK(std::ranges::equal(changes[0].before->seal, bytes_of(150, 1)));
    CHECK(std::ranges::equal(changes[0].before->entries, entries_of(50, 1)));
    s.check(0, 7, 2);
}
