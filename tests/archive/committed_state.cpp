// The state root of objects that live, are finished, leave memory, are removed anywhere and come
// back when blocks are popped: always that of the objects as they are.
#include <archive/committed_state.hpp>
#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/world.hpp>
#include <tests/state_root/reference_root.hpp>
#include <tests/support/random_source.hpp>

#include <optional>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using archive::committed_state;

namespace {

/// A world of notes with a root.
struct rooted_world : world {
    explicit rooted_world(unsigned threads = 0) : root(state, threads) {
        root.add(all);
        root.catch_up();
    }
    template <typename Work>
    void rooted_block(Work work) {
        session one = state.start_session();
        work();
        root.update(one.revision());
        one.push();
    }
    [[nodiscard]] sha256_digest expected() const {
        state_root::tree_hash hash;
        reference_leaves leaves;
        all.for_each([&](const archive::found<note>& one) {
            archive::byte_buffer content;
            archive::append_described(one, content);
            const sha256_digest key = hash.key("note", one.id().value);
            leaves[key] = hash.leaf(key, hash.content(content));
        });
        return reference_root(leaves);
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

    committed_state root;
    int written = 0;
};

} // namespace

TEST_CASE("the root is of the objects in both places, whatever becomes of them") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
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
    SECTION("the pop of a block took the catching up back with it") {
        w.block([&] { write(w.state, "alice", "two", 2); });
        w.block([&] { write(w.state, "alice", "three", 3); });
        w.root.catch_up();
        CHECK(w.root.root() == w.expected());
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
    world w;
    committed_state root(w.state, 0);
    root.add(w.all);
    {
        const session undone = w.state.start_session();
        root.catch_up();
    }
    session block = w.state.start_session();
    CHECK_THROWS_AS(root.update(block.revision()), usage_error);
    root.catch_up();
    write(w.state, "alice", "one", 1);
    root.update(block.revision());
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
        if (number % 2 == 0) one.squash(); // else it is undone
    }
    w.root.note_revision();
    block.push();
    CHECK(w.root.is_current());
    CHECK(w.root.root() == w.expected());
    CHECK(w.root.tree().size() == 3);
}
