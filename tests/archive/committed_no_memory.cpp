// Memory runs out while a state root follows its state: at each allocation in turn. Whatever is
// undone afterwards, the next root is that of the objects.

#include <catch2/catch.hpp>
#include <tests/archive/note.hpp>
#include <tests/archive/stores.hpp>
#include <tests/archive/world_with_root.hpp>

#include <cstdint>
#include <functional>
#include <new>
#include <string>

#include "allocations.hpp"

using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr int notes_of_block = 5;

struct followed_world : world_with_root {
    /// Without a root.
    followed_world() = default;
    /// With one that followed so many blocks.
    explicit followed_world(int blocks) {
        root.catch_up();
        rooted_block([&] { write_some(); });
        for (int number = 0; number < blocks; ++number)
            rooted_block([&] { change(number); });
    }
    void write_some() {
        for (int number = 0; number < notes_of_block; ++number)
            write(state, "alice", std::to_string(number), number);
    }
    void change(int by) {
        for (std::uint32_t number = 0; number < notes_of_block; ++number)
            state.modify(state.get(id<note>(number)), [&](note& it) { it.weight += 1 + by; });
    }
    void require_right_root() {
        root.catch_up();
        REQUIRE(root.root() == root.recomputed());
        rooted_block([&] { write(state, "bob", "next", 3); });
        REQUIRE(root.root() == root.recomputed());
    }
};

/// Calls `work` with the n-th allocation failing, for each n until it needs fewer. Returns how
/// often it failed.
int with_each_failing(const std::function<bool(std::int64_t)>& fails_at) {
    int failed = 0;
    while (fails_at(failed))
        ++failed;
    return failed;
}

/// Whether `work` ran out of memory.
template <typename Work>
bool runs_out(std::int64_t at, Work work) {
    allocations_left = at;
    bool failed = false;
    try {
        work();
    } catch (const std::bad_alloc&) {
        failed = true;
    }
    allocations_left = -1;
    return failed;
}

} // namespace

TEST_CASE("a session that cannot be followed for want of memory, and is undone") {
    int failures = 0;
    for (int blocks = 0; blocks < 14; ++blocks) // the journal grows now and then
        failures += with_each_failing([&](std::int64_t at) {
            CAPTURE(blocks, at);
            followed_world w(blocks);
            bool failed = false;
            {
                const session one = w.state.start_session();
                w.change(7);
                failed = runs_out(at, [&] { (void)w.root.follow(one.revision()); });
            }
            w.require_right_root();
            return failed;
        });
    CHECK(failures > 50);
}

TEST_CASE("a session that is squashed without memory to note it, in a step that is undone") {
    int failures = 0;
    for (int blocks = 0; blocks < 14; ++blocks)
        failures += with_each_failing([&](std::int64_t at) {
            CAPTURE(blocks, at);
            followed_world w(blocks);
            bool failed = false;
            {
                const session step = w.state.start_session();
                write(w.state, "carol", "first", 1);
                (void)w.root.follow(step.revision());
                session one = w.state.start_session();
                w.change(7);
                (void)w.root.follow(one.revision());
                failed = runs_out(at, [&] { w.root.squash(one); });
            }
            w.require_right_root();
            return failed;
        });
    CHECK(failures > 0);
}

TEST_CASE("a tree that is made without memory, of blocks that are popped") {
    const int failures = with_each_failing([&](std::int64_t at) {
        CAPTURE(at);
        followed_world w;
        w.block([&] { w.write_some(); });
        for (int number = 0; number < 2; ++number)
            w.block([&] { w.change(number); });
        const bool failed = runs_out(at, [&] { w.root.catch_up(); });
        w.state.undo();
        w.state.undo();
        w.require_right_root();
        return failed;
    });
    CHECK(failures > 10);
}
