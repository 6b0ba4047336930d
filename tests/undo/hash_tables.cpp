// Hash tables and lists of free slots below a log: which words an erase may write, and that no walk
// through damaged words runs forever.

#include <pool_allocator/base/error.hpp>
#include <pool_allocator/flat_tables.hpp>
#include <pool_allocator/keyed_hash.hpp>
#include <pool_allocator/size_classes.hpp>
#include <undo/undo_log.hpp>

#include <catch2/catch.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/scratch_state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

// CPython's hash() of bytes is SipHash-1-3 from 3.11 on: of PYTHONHASHSEED 0 and 1, whose seeds
// Python/bootstrap_hash.c makes of them. There a message ends with a block that has its length; so
// it does here when the test adds one.

namespace {

std::uint64_t sip_hash(const hash_seed& seed, std::string_view message) {
    keyed_hash hash(seed);
    std::uint64_t last = std::uint64_t{message.size()} << 56;
    for (; message.size() >= 8; message.remove_prefix(8)) {
        std::uint64_t block = 0;
        std::memcpy(&block, message.data(), 8);
        hash.add(block);
    }
    std::memcpy(&last, message.data(), message.size());
    hash.add(last);
    return hash.value();
}

} // namespace

TEST_CASE("the keyed hash is SipHash-1-3") {
    CHECK(sip_hash({}, "a") == 0x4074'48d2'b89b'1813U);
    CHECK(sip_hash({}, "abcdefgh") == 0x3f7b'849c'0b8e'35eaU);
    CHECK(sip_hash({}, "0123456789abcdef!") == 0x9463'628f'6c88'82caU);
    const hash_seed seed{{0xaed6'6ce1'84be'2329U, 0xebe9'bbf1'f149'9052U}};
    CHECK(sip_hash(seed, "a") == 0xd630'0bc9'f7cc'0e73U);
    CHECK(sip_hash(seed, "abcdefgh") == 0xfd30'11ff'3947'e7f4U);
    CHECK(sip_hash(seed, "0123456789abcdef!") == 0xaea3'197c'c62a'cfe7U);
}

TEST_CASE("every byte of a text counts, whatever its length") {
    std::set<std::uint64_t> hashes;
    std::size_t texts = 0;
    const auto add = [&](const std::string& text) {
        keyed_hash hash(hash_seed{{5, 6}});
        hash.add(std::string_view(text));
        hashes.insert(hash.value());
        ++texts;
    };
    for (std::size_t length = 0; length < 40; ++length) {
        add(std::string(length, '\0'));
        for (std::size_t at = 0; at < length; ++at) {
            std::string text(length, '\0');
            text[at] = 'x';
            add(text);
        }
    }
    CHECK(hashes.size() == texts);
}

TEST_CASE("texts of a key are told apart wherever they end") {
    const auto hash_of = [](std::string_view a, std::string_view b) {
        keyed_hash hash(hash_seed{{1, 2}});
        hash.add(a);
        hash.add(b);
        return hash.value();
    };
    using namespace std::string_view_literals;
    CHECK(hash_of("ab", "c") != hash_of("a", "bc"));
    CHECK(hash_of("", "abc") != hash_of("abc", ""));
    CHECK(hash_of("a\0"sv, "") != hash_of("a", ""));
    CHECK(hash_of("", "\x08\0\0\0\0\0\0\0"sv) != hash_of("\x08\0\0\0\0\0\0\0"sv, ""));
}

namespace {

/// A hash table beside a log, each in a window of its own.
struct lone_table {
    scratch_folder folder;
    address_space addresses{std::size_t{64} << 20, 2};
    window log_file = window::create({&addresses, 0}, folder / "log", undo_log::geometry);
    undo_log log{addresses, log_file, true};
    window file = window::create({&addresses, 1}, folder / "table", hash_table::geometry);
    /// Behind the words of the key, as in no type's window.
    hash_state& state = *reinterpret_cast<hash_state*>(file.root() + sizeof(hash_key_words));

    lone_table() {
        hash_table::keep_seed(file, addresses, {{3, 4}});
        hash_table::initialise(file, state);
    }
    [[nodiscard]] static std::uint32_t hash_of(slot_number slot) {
        keyed_hash hash(hash_seed{{3, 4}});
        hash.add(std::uint64_t{slot});
        return static_cast<std::uint32_t>(hash.value() >> 32);
    }
    template <typename Check>
    void insert(slot_number count, Check&& check) {
        hash_table table(file, state, &log);
        operation change(log, 0);
        for (slot_number slot = 1; slot <= count; ++slot) {
            put(table, hash_of(slot), slot);
            check();
        }
        change.complete();
    }
    void put(hash_table& table, std::uint32_t hash, slot_number slot) {
        table.reserve();
        log.reserve(hash_table::store_log_bytes);
        table.insert(hash, slot);
    }
    [[nodiscard]] std::span<hash_entry> entries() const {
        auto* const area = file.base() + hash_table::area_offset(state.log2_capacity);
        return {reinterpret_cast<hash_entry*>(area), std::size_t{1} << state.log2_capacity};
    }
};

/// Calls `work` with each of the bits of `word` flipped in turn.
template <typename Word, typename Work>
void with_each_bit_flipped(Word& word, Work&& work) {
    for (unsigned bit = 0; bit < 8 * sizeof word; ++bit) {
        INFO("bit " << bit);
        word ^= Word{1} << bit;
        work();
        word ^= Word{1} << bit;
    }
}

} // namespace

TEST_CASE_METHOD(lone_table, "a table that is gone is not asked to give space back") {
    insert(1000, [] {});
    const std::size_t held = file.held_bytes();
    operation(log, 0).complete(); // gives back what was outgrown before it
    CHECK(file.held_bytes() == held);
}

TEST_CASE_METHOD(
    lone_table, "a fifth of a hash table stays free, so that a search for what is not there ends") {
    insert(2000, [&] {
        const std::uint32_t capacity = std::uint32_t{1} << state.log2_capacity;
        REQUIRE(state.used <= capacity - capacity / 5);
    });
}

TEST_CASE_METHOD(lone_table,
                 "an erase logs no more than 64 KiB, whatever hashes are in the table") {
    hash_table table(file, state, &log);
    {
        operation change(log, 0);
        for (slot_number slot = 1; slot < hash_table::longest_run; ++slot)
            put(table, 7 << 20, slot);
        change.complete();
    }
    operation change(log, 0);
    const log_position begin = log.words().tail;
    table.erase(7 << 20, 1);
    const std::uint64_t logged = log.words().tail - begin;
    CHECK((logged > 32 << 10 && logged <= 64 << 10));
    put(table, 7 << 20, 1);
    put(table, 7 << 20, hash_table::longest_run);
    CHECK_THAT(message_of<damaged_error>([&] { put(table, 7 << 20, hash_table::longest_run + 1); }),
               Contains("/table: offset ") && Contains("chainbase-inspect check"));
    CHECK_THROWS_AS(table.find(7 << 20, [](slot_number) { return false; }), damaged_error);
}

TEST_CASE_METHOD(lone_table, "a flipped bit of a hash table's entry sends nobody round for ever") {
    constexpr slot_number count = 400; // of 512 entries
    insert(count, [] {});
    hash_table table(file, state, &log);
    const std::span<hash_entry> all = entries();
    const std::vector<hash_entry> whole(all.begin(), all.end());
    const auto is_whole = [&] {
        return std::memcmp(whole.data(), all.data(), all.size_bytes()) == 0;
    };
    unsigned refused = 0;
    unsigned harmless = 0;
    // What throws is rolled back, with all that its operation stored.
    const auto attempt = [&](auto&& work) {
        try {
            operation change(log, hash_table::store_log_bytes);
            work();
            ++harmless;
        } catch (const damaged_error&) {
            ++refused;
        }
    };
    const auto try_all = [&](std::size_t place) {
        for (slot_number slot = 1; slot <= count; ++slot)
            static_cast<void>(
                table.find(hash_of(slot), [&](slot_number found) { return found == slot; }));
        for (const std::size_t near : {place, (place + 1) % 512, (place + 511) % 512}) {
            const hash_entry one = whole[near];
            if (one.slot == 0) continue;
            attempt([&] { table.erase(one.hash, one.slot); });
            attempt([&] { table.replace(one.hash, one.slot, count + 1); });
        }
        attempt([&] { table.insert(whole[place].hash, count + 1); });
    };
    for (std::size_t place = 0; place < all.size(); ++place) {
        INFO("entry " << place);
        with_each_bit_flipped(all[place].slot, [&] { try_all(place); });
        with_each_bit_flipped(all[place].hash, [&] { try_all(place); });
        REQUIRE(is_whole());
    }
    CHECK((refused > 1000 && harmless > 1000));
}

TEST_CASE_METHOD(lone_table, "a table whose count is altered fills up, and says so") {
    insert(400, [] {});
    hash_table table(file, state, &log);
    operation change(log, 0);
    state.used = 0;
    for (slot_number slot = 401; slot <= 512; ++slot)
        put(table, hash_of(slot), slot);
    CHECK_THROWS_AS(put(table, hash_of(513), 513), damaged_error);
    CHECK_THROWS_AS(table.find(hash_of(513), [](slot_number slot) { return slot == 513; }),
                    damaged_error);
    CHECK(table.likely(hash_of(513)) == 0);
    CHECK_THROWS_AS(table.erase(hash_of(513), 513), damaged_error);
    CHECK_THROWS_AS(table.erase(hash_of(1), 1), damaged_error); // nothing ends the run
}

// --- free slots, free pages ---

namespace {

/// A pool beside a log, with 20 slots of which every other one is free.
struct lone_pool {
    scratch_folder folder;
    address_space addresses{std::size_t{4} << 20, 2};
    window log_file = window::create({&addresses, 0}, folder / "log", undo_log::geometry);
    undo_log log{addresses, log_file, true};
    window file = window::create({&addresses, 1}, folder / "slots",
                                 {window_kind::objects, 64, window_header::page_bytes});
    pool_state& state = *reinterpret_cast<pool_state*>(file.root());
    pool slots{file, state};
    root_block root{&state, sizeof state};

    lone_pool() {
        log.expect_root();
        state = {0, 1, 1};
        operation change(log, 1 << 14);
        log.touch(root);
        for (int i = 0; i < 20; ++i) {
            slots.reserve();
            static_cast<void>(state.take());
        }
        for (slot_number slot = 1; slot <= 20; slot += 2)
            state.give(state.address(slot));
        change.complete();
    }
    [[nodiscard]] std::uint32_t& link_of(slot_number slot) const {
        return *reinterpret_cast<std::uint32_t*>(state.address(slot));
    }
};

} // namespace

TEST_CASE_METHOD(lone_pool, "a flipped bit of a free list is an error where it leads astray") {
    const std::vector<slot_number> free = state.free_slots(file);
    REQUIRE(free.size() == 10);
    unsigned refused = 0;
    const auto try_all = [&] {
        try {
            const std::size_t found = state.free_slots(file).size();
            CHECK(found == state.free());
        } catch (const damaged_error& problem) {
            CHECK_THAT(problem.what(), Contains("/slots: its free list"));
            ++refused;
        }
        try { // takes all that are free, and a fresh one
            operation change(log, 1 << 14);
            log.touch(root);
            for (int i = 0; i < 11; ++i) {
                slots.reserve();
                static_cast<void>(state.take());
            }
        } catch (const damaged_error&) {
            ++refused;
        }
    };
    with_each_bit_flipped(state.free_head, try_all);
    CHECK(refused >= 2 * 27);
    with_each_bit_flipped(state.live,
                          [&] { CHECK_THROWS_AS(state.free_slots(file), damaged_error); });
    for (const slot_number slot : free)
        with_each_bit_flipped(link_of(slot), try_all);
    link_of(free[3]) = free[3]; // a circle
    CHECK_THROWS_AS(state.free_slots(file), damaged_error);
}

TEST_CASE("a flipped bit of a list of free pages is an error where it leads astray") {
    const scratch_folder folder;
    const address_space addresses(std::size_t{4} << 20, 2);
    window log_file = window::create({&addresses, 0}, folder / "log", undo_log::geometry);
    undo_log log(addresses, log_file, true);
    page_runs runs(window::create({&addresses, 1}, folder / "runs", page_runs::geometry), true);
    runs.attach(log);
    std::vector<slot_number> first;
    {
        operation change(log, 0);
        for (std::uint32_t pages = 3; pages < 11; ++pages)
            first.push_back(runs.allocate(pages));
        for (std::uint32_t pages = 3; pages < 11; pages += 2)
            runs.free(first[pages - 3], pages);
        change.complete();
    }
    unsigned refused = 0;
    const auto attempt = [&](auto&& work) {
        try {
            operation change(log, 0);
            work();
        } catch (const damaged_error& problem) {
            CHECK_THAT(problem.what(), Contains("/runs: "));
            ++refused;
        }
    };
    const auto try_all = [&] {
        for (const std::uint32_t pages : {1U, 5U, 9U, 20U})
            attempt([&] { static_cast<void>(runs.allocate(pages)); });
        for (std::uint32_t pages = 4; pages < 11; pages += 2)
            attempt([&] { runs.free(first[pages - 3], pages); });
        attempt([&] { runs.prepare_trim(); });
    };
    auto& words = *reinterpret_cast<runs_words*>(runs.file().root());
    with_each_bit_flipped(words.first_free, try_all);
    for (std::uint32_t pages = 3; pages < 11; pages += 2) {
        auto& run = *reinterpret_cast<free_run*>(runs.address(first[pages - 3]));
        with_each_bit_flipped(run.next, try_all);
        with_each_bit_flipped(run.pages, try_all);
    }
    CHECK(refused > 100);
    attempt([&] { runs.free(words.end, 1); });
    auto& run = *reinterpret_cast<free_run*>(runs.address(first[2]));
    run.next = first[0]; // a circle
    refused = 0;
    attempt([&] { static_cast<void>(runs.allocate(20)); });
    attempt([&] { runs.prepare_trim(); });
    CHECK(refused == 2);
    CHECK_THROWS_AS(runs.trim(), damaged_error);
}

// --- the log while it is in use ---

TEST_CASE("a bit of the log flipped under its writer ends every walk through it") {
    one_type<item> s;
    for (std::uint32_t k = 0; k < 200; ++k)
        s.add(k);
    const auto block = s.db.start_session();
    undo_log& log = *s.db.memory().log();
    while (log.words().chunks.live < 3)
        for (const item& one : s.db.objects<item>())
            s.set_key(one, one.key + 200);
    std::byte* const base = log.file().base();
    const auto walk = [&] {
        std::uint64_t records = 0;
        log.each_record_down_to(log.words().oldest,
                                [&](record_trailer, const std::byte*) { ++records; });
        return records;
    };
    const std::uint64_t records = walk();
    unsigned refused = 0;
    const auto try_walk = [&] {
        try {
            static_cast<void>(walk());
        } catch (const damaged_error& problem) {
            CHECK_THAT(problem.what(), Contains("/undo_log: offset "));
            ++refused;
        }
    };
    for (std::uint64_t chunk = 0; chunk < 3; ++chunk) {
        std::byte* const header = base + window_header::page_bytes + chunk * undo_log::chunk_bytes;
        with_each_bit_flipped(*reinterpret_cast<std::uint64_t*>(header + 8), try_walk);
        with_each_bit_flipped(*reinterpret_cast<std::uint64_t*>(header + 16), try_walk);
    }
    CHECK(refused > 2 * 60);
    refused = 0;
    std::byte* const trailer = base + log.words().tail - sizeof(record_trailer);
    with_each_bit_flipped(*reinterpret_cast<std::uint64_t*>(trailer), try_walk);
    CHECK(refused >= 8); // of its length
    CHECK(walk() == records);
}
