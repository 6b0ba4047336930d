// Memory runs out: each allocation of the C++ library fails, alone or with all later ones, while a
// state is made, opened, given a type, checkpointed, closed and restored. Each time the caller gets
// an exception, and the next opening finds a whole state.

#include <chainbase/database.hpp>
#include <chainbase/state_root/background_tree.hpp>
#include <chainbase/state_root/id_tree.hpp>
#include <chainbase/state_root/state_tree.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/thread_pool.hpp>

#include <catch2/catch.hpp>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>
#include <tests/support/state_files.hpp>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using namespace chainbase;
using namespace chainbase::test;

namespace {

/// For all threads, while armed.
struct shortage {
    std::atomic<bool> is_on{false};
    std::atomic<std::int64_t> left{0}; ///< until the first failure
    std::atomic<bool> lasts{false};    ///< all later ones fail, too
};
shortage memory;

void* allocated(std::size_t size, std::size_t alignment = 0) noexcept {
    if (memory.is_on) {
        const std::int64_t left = memory.left--;
        if (left == 0 || (left < 0 && memory.lasts)) return nullptr;
    }
    if (alignment == 0) return std::malloc(size);
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* required(void* got) {
    if (got) return got;
    throw std::bad_alloc();
}

/// Not inlined: g++ would warn that memory from `new` is freed.
[[gnu::noinline]] void release(void* at) noexcept {
    std::free(at);
}

} // namespace

/// @name Replacements of the C++ library's functions in this program
/// @{
void* operator new(std::size_t size) {
    return required(allocated(size));
}
void* operator new[](std::size_t size) {
    return required(allocated(size));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return required(allocated(size, static_cast<std::size_t>(alignment)));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return required(allocated(size, static_cast<std::size_t>(alignment)));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocated(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
    return allocated(size);
}
void operator delete(void* at) noexcept {
    release(at);
}
void operator delete[](void* at) noexcept {
    release(at);
}
void operator delete(void* at, std::size_t) noexcept {
    release(at);
}
void operator delete[](void* at, std::size_t) noexcept {
    release(at);
}
void operator delete(void* at, std::align_val_t) noexcept {
    release(at);
}
void operator delete[](void* at, std::align_val_t) noexcept {
    release(at);
}
void operator delete(void* at, std::size_t, std::align_val_t) noexcept {
    release(at);
}
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept {
    release(at);
}
/// @}

namespace {

struct by_weight;

/// A type that the state does not have yet.
struct parcel {
    chainbase::id<parcel> id;
    std::uint64_t weight = 0;

    using keys = chainbase::keys<hashed_unique<by_weight, &parcel::weight>>;
};
BOOST_DESCRIBE_STRUCT(parcel, (), (id, weight))

constexpr std::uint32_t accounts = 20;

void add_account(database& db) {
    auto block = db.start_session();
    const auto number = db.next_id<account>().value;
    db.create<account>([&](account& one) {
        one.name = std::string_view(std::to_string(number));
        one.number = number;
    });
    block.push();
    db.commit(db.revision());
}

/// A state with some accounts, and a checkpoint of them.
void make_state(const fs::path& state, const open_options& how) {
    database db(state, how);
    db.add_type<account>("account");
    while (db.count<account>() < accounts)
        add_account(db);
}

void require_whole(const fs::path& state, const open_options& how) {
    for (const bool again : {false, true}) {
        database db(state, how);
        db.add_type<account>("account");
        const auto count = db.count<account>();
        expect(count >= accounts, "accounts are lost");
        for (std::uint32_t number = 0; number < accounts; ++number)
            expect(db.get(id<account>(number)).number == number, "an account is another one");
        if (again) return;
        add_account(db);
    }
}

/// Calls `work` with allocations failing from n on. Returns whether one failed.
bool falls_short(std::int64_t n, bool lasts, const std::function<void()>& work) {
    memory.left = n;
    memory.lasts = lasts;
    memory.is_on = true;
    try {
        work();
    } catch (const std::exception&) { // std::bad_alloc, or the engine's exception for it
    }
    memory.is_on = false;
    return memory.left < 0;
}

/// The work done while memory runs out.
struct trial {
    const char* name;
    bool has_state = true;                          ///< before
    std::function<void(const fs::path&)> lose = {}; ///< removes parts of the state first
    /// on the open database; null: opening
    std::function<void(std::optional<database>&)> work = {};
};

open_options how_to_open(durability level) {
    open_options how = with_checkpoints();
    how.durability = level;
    return how;
}

/// No failures before and after the work.
bool falls_short(std::int64_t n, bool lasts, const trial& of, const fs::path& state,
                 const open_options& how) {
    std::optional<database> db;
    if (!of.work) return falls_short(n, lasts, [&] { db.emplace(state, how); });
    db.emplace(state, how);
    db->add_type<account>("account");
    add_account(*db); // so there is something to write
    return falls_short(n, lasts, [&] { of.work(db); });
}

/// Distance between failing allocations: 1 in a soak, else random.
std::uint32_t step(random_source& random) {
    return test_operations(1) >= 1'000'000 ? 1 : 1 + random.below(25);
}

/// Each n in its own state, all in this process. `told`: the current n.
void run(const trial& of, durability level, bool lasts, random_source random, progress& told) {
    // which still formats all messages
    spdlog::set_default_logger(spdlog::null_logger_mt("silent"));
    const scratch_folder folder;
    const open_options how = how_to_open(level);
    const fs::path made = folder / "made";
    make_state(made, how);
    for (std::int64_t n = step(random) - 1;; n += step(random)) {
        told.begun = static_cast<std::uint64_t>(n);
        const fs::path state = folder / "state";
        if (of.has_state) fs::copy(made, state, fs::copy_options::recursive);
        if (of.lose) of.lose(state);
        const bool failed = falls_short(n, lasts, of, state, how);
        if (of.has_state)
            require_whole(state, how);
        else
            make_state(state, how);
        fs::remove_all(state);
        if (!failed) return;
    }
}

} // namespace

TEST_CASE_METHOD(seeded, "memory that runs out gives an exception and leaves a whole state") {
    const bool lasts = GENERATE(false, true);
    const durability level = GENERATE(durability::checkpoint, durability::commit);
    const trial of =
        GENERATE(trial{.name = "making", .has_state = false}, trial{.name = "opening"},
                 trial{.name = "restoring",
                       .lose = [](const fs::path& state) { fs::remove_all(state / "segment"); }},
                 trial{.name = "adding a type",
                       .work = [](auto& db) { db->template add_type<parcel>("parcel"); }},
                 trial{.name = "a checkpoint", .work = [](auto& db) { db->make_checkpoint(); }},
                 trial{.name = "closing", .work = [](auto& db) { db->close(); }},
                 trial{.name = "destroying", .work = [](auto& db) { db.reset(); }});
    CAPTURE(of.name, lasts, static_cast<int>(level));
    const auto told = shared_progress();
    const bool works = succeeds_in_child([&] { run(of, level, lasts, random, *told); });
    INFO("the allocation that failed: " << told->begun);
    CHECK(works);
    CHECK(told->begun > 20); // the work does allocate
}

TEST_CASE_METHOD(seeded, "memory runs out while a tree is updated: all of it is done, or nothing") {
    using state_root::id_tree;
    using updates = std::vector<state_root::leaf_update>;
    const auto any_updates = [&](std::uint32_t end, std::uint32_t gone) {
        updates made;
        for (std::uint32_t id = 0; id < end; id += 1 + random.below(20)) {
            made.push_back({id, {}});
            if (random.below(8) >= gone) made.back().leaf[random.below(32)] = std::byte{1};
        }
        return made;
    };
    thread_pool pool(1);
    bool fails_at_first = true; // also what a process does once
    for (std::int64_t n = 0; fails_at_first; ++n) {
        id_tree first;
        const updates some = any_updates(200, 0);
        fails_at_first = falls_short(n, false, [&] { first.update(some); });
    }
    for (const bool lasts : {false, true})
        for (const std::uint32_t end : {200u, 5'000u}) { // the second one makes the tree higher
            const updates before = any_updates(200, 0);
            const updates change = any_updates(end, end == 200 ? 6 : 2);
            id_tree old;
            old.update(before);
            id_tree expected;
            expected.update(before);
            expected.update(change);
            bool fails = true;
            for (std::int64_t n = 0; fails; ++n) {
                INFO("allocation " << n << (lasts ? " and all later ones" : ""));
                id_tree tree;
                tree.update(before);
                bool threw = false;
                fails = falls_short(n, lasts, [&] {
                    threw = true;
                    tree.update(change, end == 200 ? nullptr : &pool);
                    threw = false;
                });
                const id_tree& as = threw ? old : expected;
                REQUIRE(tree.root() == as.root());
                REQUIRE(tree.height() == as.height());
                REQUIRE(tree.leaves() == as.leaves());
                if (threw && !lasts) REQUIRE(tree.bytes() == old.bytes());
                tree.update(change);
                REQUIRE(tree.root() == expected.root());
            }
        }
}

TEST_CASE_METHOD(seeded, "memory runs out while several types change: all of them do, or none") {
    using state_root::state_tree;
    using updates = std::vector<state_root::leaf_update>;
    const std::vector<std::string> types{"account", "post", "vote"};
    const auto any_updates = [&](std::uint32_t end) {
        std::vector<updates> all(types.size());
        for (updates& of_type : all)
            for (std::uint32_t id = random.below(20); id < end; id += 1 + random.below(20)) {
                of_type.push_back({id, {}});
                if (!random.chance(300)) of_type.back().leaf[random.below(32)] = std::byte{1};
            }
        return all;
    };
    const auto change = [](state_tree& tree, const std::vector<updates>& to) {
        std::vector<state_tree::type_changes> all;
        for (std::size_t type = 0; type < to.size(); ++type)
            all.push_back({type, to[type]});
        tree.update(all);
    };
    const auto before = any_updates(200);
    const auto after = any_updates(3'000); // which makes the trees higher
    state_tree old(types);
    change(old, before);
    state_tree expected(types);
    change(expected, before);
    change(expected, after);
    for (const bool lasts : {false, true}) {
        bool fails = true;
        for (std::int64_t n = 0; fails; n += step(random)) {
            CAPTURE(n, lasts);
            state_tree tree(types);
            change(tree, before);
            bool threw = true;
            fails = falls_short(n, lasts, [&] {
                change(tree, after);
                threw = false;
            });
            const state_tree& as = threw ? old : expected;
            REQUIRE(tree.root() == as.root());
            REQUIRE(tree.leaves() == as.leaves());
            change(tree, after);
            REQUIRE(tree.root() == expected.root());
        }
    }
}

TEST_CASE_METHOD(seeded, "memory runs out while a tree is followed: what it cannot do is told") {
    using state_root::background_tree;
    using state_root::block_digests;
    using state_root::object_changes;
    using blocks = std::vector<object_changes>;
    const auto any_block = [&] {
        object_changes made;
        for (std::uint32_t type = 0; type < 2; ++type)
            for (std::uint32_t id = random.below(9); id < 1'500; id += 1 + random.below(9)) {
                made.records.resize(made.records.size() + random.below(9), std::byte{7});
                made.add(type, id, !random.chance(200));
            }
        return made;
    };
    const std::vector<std::string> types{"account", "vote"};
    const blocks all{any_block(), any_block(), any_block()};
    std::vector<block_digests> expected;
    background_tree undisturbed(types, 0);
    for (const object_changes& one : all)
        expected.push_back(undisturbed.update(one).get());
    const bool lasts = GENERATE(false, true);
    const unsigned threads = GENERATE(0u, 1u, 3u);
    CAPTURE(lasts, threads);
    bool fails = true;
    std::int64_t failures_of_thread = 0;
    for (std::int64_t n = 0; fails; n += step(random)) {
        CAPTURE(n);
        background_tree tree(types, threads);
        std::vector<std::shared_future<block_digests>> done;
        done.reserve(all.size());
        blocks left = all;
        fails = falls_short(n, lasts, [&] {
            while (done.size() < all.size())
                done.push_back(tree.update(std::move(left[done.size()])));
            (void)tree.settled();
        });
        bool has_failed = false;
        for (std::size_t number = 0; number < all.size(); ++number) {
            // One that the tree did not take over comes again.
            if (number == done.size()) done.push_back(tree.update(all[number]));
            try {
                const block_digests found = done[number].get();
                REQUIRE_FALSE(has_failed);
                REQUIRE(found.root == expected[number].root);
                REQUIRE(found.writes == expected[number].writes);
            } catch (const std::bad_alloc&) {
                has_failed = true;
            }
        }
        failures_of_thread += has_failed;
        if (has_failed)
            REQUIRE_THROWS_AS(tree.settled(), std::bad_alloc);
        else
            REQUIRE(tree.settled().root() == expected.back().root);
    }
    CHECK(failures_of_thread > 5);
}
