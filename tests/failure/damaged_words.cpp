// Bits of an open state flip under its program: entries of hash tables and ids, rings of equal
// keys, free lists. Every call ends, with an error about it or normally; undo reverts what a failed
// call left.

#include <pool_allocator/base/error.hpp>
#include <pool_allocator/flat_tables.hpp>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <tests/support/child_process.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/temporary_folder.hpp>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr std::uint32_t cards = 30;

/// Cards in groups of five; every sixth one was removed.
class flipped_state : public one_type<card> {
public:
    flipped_state() {
        for (std::uint32_t k = 0; k < cards; ++k)
            add(k, k / 5);
        for (std::uint32_t k = 0; k < cards; k += 6)
            db.remove(*at(k));
    }

    /// Runs all calls with each bit of a word flipped in turn.
    void flip(std::uint32_t& word) {
        for (unsigned bit = 0; bit < 32; ++bit) {
            INFO("bit " << bit);
            word ^= 1U << bit;
            const snapshot before = now();
            look_up();
            change();
            REQUIRE(now() == before);
            word ^= 1U << bit;
        }
    }
    [[nodiscard]] unsigned refused() const noexcept { return refused_; }
    [[nodiscard]] const type_windows& files() { return *db.memory().windows().front(); }

private:
    template <typename Work>
    void attempt(Work&& work) {
        try {
            work();
        } catch (const damaged_error& problem) {
            CHECK(std::string(problem.what()).find("chainbase-inspect check") != std::string::npos);
            ++refused_;
        } catch (const error&) { // an object that seems missing, or a key that seems unused
        }
    }
    /// Visits objects, which cannot be more than the slots.
    template <typename Range>
    static void count(const Range& all) {
        std::uint32_t met = 0;
        for (const card& one : all)
            REQUIRE((met += one.key < 2 * cards) <= cards);
    }
    void look_up() {
        for (std::uint32_t k = 0; k < cards; ++k) {
            attempt([&] { static_cast<void>(at(k)); });
            attempt([&] { static_cast<void>(find(k)); });
            attempt([&] { count(db.view<card, by_group>().equal_range(k / 5)); });
        }
        std::vector<std::uint32_t> keys(cards);
        std::iota(keys.begin(), keys.end(), 0U);
        std::vector<const card*> found(cards);
        attempt([&] { db.find_many<card, by_key>(keys, found); });
        attempt([&] { count(db.view<card, by_group>()); });
        attempt([&] { count(db.objects<card>()); });
    }
    void change() {
        auto all = db.start_session();
        for (std::uint32_t k = cards; k < cards + 7; ++k) // as many as are free, and some more
            attempt([&] { add(k, k % 7); });
        for (std::uint32_t k = 1; k < cards; k += 2) {
            attempt([&] { db.modify(*value(k), [](card& one) { one.group = 2; }); });
            attempt([&] { set_key(*value(k), k + 100); });
            attempt([&] { db.remove(*value(k)); });
        }
        all.undo();
    }
    /// Throws not_found_error for an object that seems missing.
    [[nodiscard]] const card* value(std::uint32_t k) const {
        return &db.get(chainbase::id<card>(k));
    }

    unsigned refused_ = 0;
};

} // namespace

TEST_CASE_METHOD(flipped_state, "a flipped bit in an entry of a hash table") {
    for (std::size_t t = 0; t < 2; ++t) {
        std::byte* const area =
            files().tables[t]->base() + hash_table::area_offset(hash_table::min_log2);
        auto* const entries = reinterpret_cast<hash_entry*>(area);
        for (std::uint32_t i = 0; i < 512; ++i) {
            if (entries[i].slot == 0 && i % 64 != 0) continue;
            INFO("table " << t << ", entry " << i);
            flip(entries[i].slot);
            flip(entries[i].hash);
        }
    }
    CHECK(refused() > 1000);
}

TEST_CASE_METHOD(flipped_state, "a flipped bit in the entry of an id") {
    auto* const ids =
        reinterpret_cast<std::uint32_t*>(files().ids->base() + window_header::page_bytes);
    for (std::uint32_t k = 0; k < cards; ++k) {
        INFO("id " << k);
        flip(ids[k]);
    }
    CHECK(refused() > 1000);
}

TEST_CASE_METHOD(flipped_state, "a flipped bit in the ring of equal keys, or in the free list") {
    const window_header& header = files().objects->header();
    auto& pool = *reinterpret_cast<pool_state*>(files().objects->root());
    flip(pool.free_head);
    for (slot_number slot = 1; slot < pool.high_water; ++slot) {
        INFO("slot " << slot);
        auto* const words = reinterpret_cast<std::uint32_t*>(
            files().objects->base() + header.first_slot + std::size_t{slot} * header.slot_bytes);
        flip(words[0]); // the next one of a free slot
        flip(words[1]);
    }
    CHECK(refused() > 1000);
}

TEST_CASE("a log that is damaged under its writer ends the process when it is to be undone") {
    const scratch_folder folder;
    const auto state = folder / "state";
    const ending end = run_process([&] {
        std::signal(SIGABRT, [](int) { ::raise(SIGKILL); }); // without a core file
        const int said = open((folder / "said").c_str(), O_WRONLY | O_CREAT, 0600);
        dup2(said, STDERR_FILENO);
        database db(state, quick_options());
        db.add_type<card>("card");
        auto block = db.start_session();
        db.create<card>([](card& made) { made.key = 2; });
        auto& words = const_cast<log_words&>(db.memory().words());
        const std::uint64_t longest = std::uint64_t{0xFFFF} << 44;
        std::byte* const trailer =
            db.memory().log()->file().base() + words.tail - sizeof(record_trailer);
        *reinterpret_cast<std::uint64_t*>(trailer) |= longest;
        block.undo();
    });
    CHECK(end.killed);
    CHECK_THAT(read_all(folder / "said"), Catch::Matchers::Contains("not the end of a record"));
    CHECK_THROWS_AS(database(state, quick_options()), damaged_error);
}
