// The archive and the root of the committed state.

#include <archive/committed_state.hpp>
#include <archive/open_archive.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/note.hpp>
#include <tests/archive/stores.hpp>
#include <tests/archive/world_with_root.hpp>
#include <tests/state_root/digests.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using archive::committed_state;

// The state root while objects live, are finished, leave memory, are removed anywhere and come back
// when blocks are popped: it always matches the current objects.

namespace {

/// A world of notes with a root that is caught up.
struct rooted_world : world_with_root {
    explicit rooted_world(unsigned threads = 0) : world_with_root(threads) { root.catch_up(); }
    [[nodiscard]] sha256_digest expected() const {
        sha256 hash;
        leaves_by_id leaves;
        all.for_each([&](const archive::found<note>& one) {
            archive::byte_buffer content;
            archive::append_described(one, content);
            leaves[one.id().value] = hash.of(content);
        });
        return defined_state_root({{"note", leaves}});
    }
    [[nodiscard]] std::optional<id<note>> some_note(random_source& random) const {
        const std::uint32_t end = state.next_id<note>().value;
        for (int tries = 0; end != 0 && tries < 30; ++tries) {
            const id<note> one(random.below(end));
            if (all.find(one)) return one;
        }
        return std::nullopt;
    }
    void change_something(random_source& random) {
        const auto one = some_note(random);
        const note* in_memory = one ? state.find(*one) : nullptr;
        switch (random.below(6)) {
        case 0:
        case 1:
            write(state, "author", std::to_string(++written), random.below(1000));
            break;
        case 2:
            if (in_memory && !all.is_retired(*one))
                all.modify(*in_memory, [&](note& it) { it.weight = random.below(1000); });
            break;
        case 3:
            if (in_memory && !all.is_retired(*one)) all.retire(*in_memory);
            break;
        case 4:
            if (one && random.chance(400)) all.remove(*one);
            break;
        default:
            if (random.chance(500))
                all.hand_over(state.committed_revision(), 1 + random.below(8));
            else
                all.hand_over_behind(state.committed_revision(), 1 + random.below(8));
        }
    }

    int written = 0;
};

} // namespace

TEST_CASE_METHOD(seeded, "the root is of the objects in both places, whatever becomes of them") {
    rooted_world w(1);
    const std::uint64_t blocks = test_operations(20'000) / 10; // of that many operations
    const std::uint64_t between_looks = 1 + blocks / 100;
    for (std::uint64_t number = 0; number < blocks; ++number) {
        CAPTURE(number);
        {
            session block = w.state.start_session();
            for (std::uint32_t count = random.below(20); count != 0; --count)
                w.change_something(random);
            w.root.update(block.revision());
            if (!random.chance(150)) block.push(); // else it is undone
        }
        if (random.chance(100) && w.state.revision() > w.state.committed_revision()) w.state.undo();
        const revision_number irreversible = w.state.revision() - random.below(4);
        if (random.chance(300) && irreversible > w.state.committed_revision())
            w.state.commit(irreversible);
        if (number % between_looks == 0 || number + 1 == blocks) {
            REQUIRE(w.root.root() == w.expected());
            REQUIRE(w.root.recomputed() == w.expected());
            REQUIRE(w.root.tree().root() == w.expected());
        }
    }
    CHECK(w.all.archived() > 0);
    const sha256_digest before = w.root.root();
    w.root.rebuild();
    CHECK(w.root.root() == before);
}

TEST_CASE("a state that was written without its root is brought up to date") {
    rooted_world w;
    w.rooted_block([&] { write(w.state, "alice", "one", 1); });
    REQUIRE(w.root.is_current());
    const sha256_digest before = w.root.root();
    w.block([&] { write(w.state, "alice", "two", 2); });
    CHECK_FALSE(w.root.is_current());
    CHECK(w.root.root() == before);
    w.root.catch_up();
    CHECK(w.root.is_current());
    CHECK(w.root.root() == w.expected());
    CHECK(w.root.root() != before);
    w.state.undo();
    CHECK(w.root.is_current() == (w.root.root() == w.expected()));
}

TEST_CASE("the digest of a block is of what it wrote") {
    const auto digest_of_block = [](std::int64_t weight, bool twice) {
        rooted_world w;
        session block = w.state.start_session();
        write(w.state, "alice", "one", 3);
        if (twice) {
            const note& made = w.state.get(id<note>(0));
            w.state.modify(made, [](note& it) { it.weight = 5; });
            w.state.modify(made, [&](note& it) { it.weight = 3; });
        }
        if (weight != 3)
            w.state.modify(w.state.get(id<note>(0)), [&](note& it) { it.weight = weight; });
        return w.root.update(block.revision());
    };
    CHECK(digest_of_block(3, false) == digest_of_block(3, true));
    CHECK(digest_of_block(3, false) != digest_of_block(4, false));
}

TEST_CASE("a root that missed a block goes on only after it was brought up to date") {
    rooted_world w;
    w.rooted_block([&] { write(w.state, "alice", "one", 1); });
    SECTION("one block") {
        w.block([&] { write(w.state, "alice", "two", 2); });
    }
    SECTION("two blocks, of which one was popped") {
        w.block([&] { write(w.state, "alice", "two", 2); });
        w.block([&] { write(w.state, "alice", "three", 3); });
        w.state.undo();
    }
    const auto next = [&] { write(w.state, "alice", "next", 4); };
    const sha256_digest before = w.root.root();
    CHECK_THROWS_AS(w.rooted_block(next), usage_error);
    CHECK(w.root.root() == before);
    w.root.catch_up();
    w.rooted_block(next);
    CHECK(w.root.root() == w.expected());
}

TEST_CASE("a root that was made in a session that is undone is made again") {
    note_world w;
    committed_state root(w.state, 0);
    root.add(w.all);
    {
        const session undone = w.state.start_session();
        root.catch_up();
    }
    CHECK_FALSE(root.is_current());
    session block = w.state.start_session();
    write(w.state, "alice", "one", 1);
    root.update(block.revision());
    CHECK(root.is_current());
    CHECK(root.root() == root.recomputed());
}

TEST_CASE("sessions within a block are told of one by one") {
    rooted_world w;
    session block = w.state.start_session();
    for (int number = 0; number < 5; ++number) {
        w.root.note_revision(); // nothing changed since
        session one = w.state.start_session();
        write(w.state, "alice", std::to_string(number), number);
        w.root.update(one.revision());
        if (number == 0)
            w.root.squash(one);
        else if (number % 2 == 0)
            one.squash();
        // else it is undone
    }
    w.root.note_revision();
    w.root.record();
    block.push();
    CHECK(w.root.is_current());
    CHECK(w.root.root() == w.expected());
    CHECK(w.root.objects() == 3);
}

TEST_CASE_METHOD(seeded, "steps of blocks are followed, also after steps that were undone") {
    rooted_world w(1);
    const std::uint64_t steps = test_operations(20'000) / 100;
    for (std::uint64_t number = 0; number < steps; ++number) {
        CAPTURE(number);
        session step = w.state.start_session();
        w.change_something(random); // by nothing that the root commits to, or by the first block
        if (random.chance(500)) w.root.update(step.revision());
        const bool is_noted = w.root.is_current();
        w.root.note_revision();
        std::vector<std::shared_future<state_root::block_digests>> of_blocks;
        for (std::uint32_t blocks = random.below(5); blocks != 0 && is_noted; --blocks) {
            session block = w.state.start_session();
            for (std::uint32_t count = random.below(8); count != 0; --count)
                w.change_something(random);
            of_blocks.push_back(w.root.follow(block.revision()));
            w.root.squash(block);
        }
        if (!is_noted || random.chance(300)) { // the step is undone
            step.undo();
            continue;
        }
        w.root.record();
        step.push();
        REQUIRE(w.root.is_current());
        REQUIRE(w.root.root() == w.expected());
        if (!of_blocks.empty()) REQUIRE(of_blocks.back().get().root == w.root.root());
        if (random.chance(200)) w.state.undo();
        if (random.chance(300)) w.state.commit(w.state.revision());
    }
    CHECK(w.root.tree().root() == w.expected());
}

TEST_CASE("a root that was caught up in a block that is popped is caught up again") {
    note_world w;
    w.block([&] { write(w.state, "alice", "one", 1); });
    w.block([&] { write(w.state, "alice", "two", 2); });
    committed_state root(w.state, 1);
    root.add(w.all);
    root.catch_up();
    CHECK(root.root() == root.recomputed());
    w.state.undo();
    CHECK_FALSE(root.is_current());
    root.catch_up();
    CHECK(root.is_current());
    CHECK(root.root() == root.recomputed());
}

TEST_CASE("what was squashed in a step that is undone is read again") {
    rooted_world w;
    const auto change = [&](std::int64_t weight) {
        w.state.modify(w.state.get(id<note>(0)), [&](note& it) { it.weight = weight; });
    };
    w.rooted_block([&] { write(w.state, "alice", "one", 1); });
    {
        const session step = w.state.start_session();
        w.root.note_revision();
        for (int number = 0; number < 2; ++number) {
            session one = w.state.start_session();
            change(77 + number);
            w.root.update(one.revision());
            one.squash(); // and the root is not told
            w.root.note_revision();
        }
        w.root.record();
        CHECK(w.root.root() == w.expected());
    }
    CHECK(w.root.is_current());
    w.rooted_block([&] { write(w.state, "alice", "two", 2); });
    CHECK(w.root.is_current());
    CHECK(w.root.root() == w.expected());
}

TEST_CASE("a block in place of one that was popped is not taken for that") {
    rooted_world w;
    w.rooted_block([&] { write(w.state, "alice", "one", 1); });
    w.rooted_block(
        [&] { w.state.modify(w.state.get(id<note>(0)), [](note& it) { it.weight = 77; }); });
    w.state.undo();
    SECTION("of another session") {
        w.block([&] { write(w.state, "alice", "two", 2); });
        w.state.commit(w.state.revision());
        CHECK_THROWS_AS(w.rooted_block([&] { write(w.state, "alice", "three", 3); }), usage_error);
    }
    SECTION("of set_revision()") {
        w.state.commit(w.state.revision());
        w.state.set_revision(w.state.revision() + 1);
    }
    CHECK_FALSE(w.root.is_current());
    w.root.catch_up();
    CHECK(w.root.is_current());
    CHECK(w.root.root() == w.expected());
}

TEST_CASE("what was not followed is not recorded, and what was not recorded is not current") {
    rooted_world w;
    SECTION("a session within another one was left out") {
        session step = w.state.start_session();
        write(w.state, "alice", "one", 1);
        (void)w.root.follow(step.revision());
        session within = w.state.start_session();
        write(w.state, "alice", "two", 2);
        CHECK_THROWS_AS(w.root.record(), usage_error);
        within.push();
        step.push();
    }
    SECTION("a step was completed without its record") {
        session step = w.state.start_session();
        w.root.note_revision();
        session one = w.state.start_session();
        write(w.state, "alice", "one", 1);
        (void)w.root.follow(one.revision());
        w.root.squash(one);
        step.push();
    }
    CHECK_FALSE(w.root.is_current());
    w.root.catch_up();
    CHECK(w.root.is_current());
    CHECK(w.root.root() == w.expected());
}

// A process that writes state, archive and root forks: nothing that the child does or destroys
// changes them.

namespace {

/// A whole node, with all its threads.
struct node {
    explicit node(const std::filesystem::path& folder)
        : state(folder / "state", with_redo_log()), rows(open(folder)),
          all((state.add_type<note>("note"), state), *rows, "note"), root(state, 2) {
        root.add(all);
        root.catch_up();
    }
    static open_options with_redo_log() {
        open_options how = small_state();
        how.durability = durability::commit;
        return how;
    }
    static std::unique_ptr<archive::store> open(const std::filesystem::path& folder) {
        return archive::open_store(folder / "archive", {});
    }
    template <typename Work>
    void block(Work work) {
        rooted_block(state, root, work);
        state.commit(state.revision());
    }
    void write_and_hand_over(int count) {
        block([&] {
            for (; count > 0; --count, ++written)
                all.retire(write(state, "alice", std::to_string(written), written));
        });
        block([&] { all.hand_over_behind(state.committed_revision(), 8); });
    }

    database state;
    std::unique_ptr<archive::store> rows;
    notes all;
    committed_state root;
    int written = 0;
};

} // namespace

TEST_CASE("a fork of a process with an archive leaves it to its parent") {
    const scratch_folder folder;
    std::string digest;
    auto parent = std::make_unique<node>(folder.path());
    for (int turn = 0; turn < 3; ++turn) {
        parent->write_and_hand_over(20);
        std::fflush(stdout);
        const auto ended = run_process([&] {
            bool is_refused = false;
            try {
                parent->rows->sync();
            } catch (const usage_error&) {
                is_refused = true;
            }
            expect(is_refused, "the store was synced");
            parent.reset();
            ::_exit(0); // exit() would wait for RocksDB's threads, which the child lacks
        });
        REQUIRE_FALSE(ended.killed);
        digest = digest_of(parent->all);
    }
    for (std::size_t moved = 1; moved != 0;)
        parent->block([&] { moved = parent->all.hand_over(parent->state.committed_revision()); });
    CHECK(digest_of(parent->all) == digest);
    const sha256_digest root = parent->root.root();
    parent->rows->sync();
    parent->state.close();
    parent.reset();
    const node again(folder.path());
    CHECK(again.state.opened().how == opening::way::attached);
    CHECK(digest_of(again.all) == digest);
    CHECK(again.root.root() == root);
}
