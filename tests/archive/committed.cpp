// The archive and the root of the committed state.

#include <archive/committed_state.hpp>
#include <archive/open_archive.hpp>
#include <chainbase/state_root/leaves_file.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/note.hpp>
#include <tests/archive/stores.hpp>
#include <tests/archive/world.hpp>
#include <tests/state_root/digests.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using archive::committed_state;

// The state root while objects live, are finished, leave memory, are removed anywhere and come back
// when blocks are popped: it always matches the current objects.

namespace {

/// A world of notes with a root.
struct rooted_world : note_world {
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

    committed_state root;
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

// The types of the state root: other types do not affect it, and after a change of the types or a
// restart it is the root of the objects of those types.

namespace {

/// Sorts before "note".
struct coin {
    chainbase::id<coin> id;
    std::uint64_t amount = 0;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(coin, (), (id, amount))

using names = std::set<std::string>;

/// A state of coins and notes, with a root of some types.
struct two_types {
    two_types(const std::filesystem::path& folder, const names& only)
        : state(folder, small_state()),
          all_notes((state.add_type<note>("note"), state), rows, "note") {
        state.add_type<coin>("coin");
        root.restrict_to(only);
        root.add(all_notes);
        root.add<coin>("coin");
    }
    template <typename Work>
    void block(Work work) {
        session one = state.start_session();
        work();
        root.update(one.revision());
        one.push();
    }
    void some_objects() {
        block([&] {
            for (std::uint64_t i = 0; i < 40; ++i) {
                state.create<coin>([&](coin& one) { one.amount = i; });
                write(state, "alice", std::to_string(i), static_cast<std::int64_t>(i));
            }
        });
    }
    /// Begins a new state: the root is current and covers some objects.
    void begin() {
        root.catch_up();
        some_objects();
    }
    void change_coin() {
        state.modify(state.get(id<coin>(3)), [](coin& one) { ++one.amount; });
    }
    void change_note() {
        state.modify(state.get(id<note>(3)), [](note& one) { ++one.weight; });
    }

    void require_root_of(const names& types) {
        sha256 hash;
        std::map<std::string, leaves_by_id> leaves;
        for (const std::string& name : types)
            leaves[name];
        archive::byte_buffer content;
        const auto add = [&]<typename T>(const std::string& name, const T& object) {
            if (!types.contains(name)) return;
            content.clear();
            archive::append_described(archive::found<T>(object), content);
            leaves[name][object.id.value] = hash.of(content);
        };
        for (const coin& one : state.objects<coin>())
            add("coin", one);
        for (const note& one : state.objects<note>())
            add("note", one);
        REQUIRE(root.root() == defined_state_root(leaves));
        REQUIRE(root.tree().root() == root.root());
        std::uint64_t count = 0;
        for (const auto& [name, of_type] : leaves)
            count += of_type.size();
        REQUIRE(root.objects() == count);
        REQUIRE(root.recorded_types() == types);
    }

    database state;
    heap_store rows;
    notes all_notes;
    committed_state root{state, 1};
};

const names both{"coin", "note"};

} // namespace

TEST_CASE("the root of some types is not touched by others") {
    const scratch_folder folder;
    two_types w(folder / "state", {"coin"});
    CHECK(w.root.types() == names{"coin"});
    w.begin();
    w.require_root_of({"coin"});
    const sha256_digest before = w.root.root();
    w.block([&] { w.change_note(); });
    CHECK(w.root.root() == before);
    CHECK(w.root.recomputed() == before);
    w.block([&] { w.change_coin(); });
    CHECK(w.root.root() != before);
    w.require_root_of({"coin"});
    CHECK(w.root.is_current());
}

TEST_CASE("a root of other types is not current and made anew for them") {
    const scratch_folder folder;
    {
        two_types w(folder / "state", both);
        w.begin();
        w.require_root_of(both);
    }
    const names in_turn[] = {{"note"}, {"coin"}, both, {"coin"}, both};
    for (const names& types : in_turn) {
        two_types w(folder / "state", types);
        CHECK_FALSE(w.root.is_current());
        w.root.catch_up();
        CHECK(w.root.is_current());
        w.require_root_of(types);
        w.block([&] {
            w.change_coin();
            w.change_note();
        });
        w.require_root_of(types);
    }
}

TEST_CASE("a root that is opened again goes on") {
    const scratch_folder folder;
    {
        two_types w(folder / "state", both);
        w.begin();
    }
    for (int times = 0; times < 3; ++times) {
        two_types w(folder / "state", both);
        CHECK(w.root.is_current());
        const sha256_digest before = w.root.root();
        w.root.catch_up();
        CHECK(w.root.root() == before);
        w.block([&] {
            w.change_coin();
            w.change_note();
            w.state.create<coin>([](coin&) {});
            write(w.state, "bob", std::to_string(times));
        });
        CHECK(w.root.root() != before);
        w.require_root_of(both);
    }
}

TEST_CASE("blocks from before an opening can be popped") {
    const scratch_folder folder;
    {
        two_types w(folder / "state", both);
        w.begin();
        w.state.commit(w.state.revision());
        for (int times = 0; times < 3; ++times)
            w.block([&] {
                w.change_coin();
                w.change_note();
                w.state.create<coin>([](coin&) {});
            });
    }
    two_types w(folder / "state", both);
    w.root.catch_up();
    w.require_root_of(both);
    for (int times = 0; times < 2; ++times) {
        w.state.undo();
        CHECK(w.root.is_current());
        w.require_root_of(both);
    }
    w.block([&] { w.change_note(); });
    w.require_root_of(both);
}

TEST_CASE("an opening takes the leaves that were kept, if they are of the root") {
    const scratch_folder folder;
    const auto leaves = folder / "state" / state_root::leaves_file_name;
    {
        two_types w(folder / "state", both);
        w.begin();
        w.state.commit(w.state.revision());
        w.root.keep_leaves();
        // A change that no session has: nobody is told of it.
        w.state.modify(w.state.get(id<coin>(3)), [](coin& one) { ++one.amount; });
    }
    {
        two_types w(folder / "state", both);
        w.root.catch_up();
        CHECK(w.root.recomputed() != w.root.root());
        CHECK(w.root.tree().root() == w.root.root());
    }
    SECTION("none are there") {
        std::filesystem::remove(leaves);
    }
    SECTION("others are there") {
        std::filesystem::resize_file(leaves, std::filesystem::file_size(leaves) - 1);
    }
    two_types w(folder / "state", both);
    CHECK(w.root.is_current());
    const sha256_digest before = w.root.root();
    CHECK_THROWS_AS(w.root.catch_up(), damaged_error);
    CHECK(w.root.root() == before);
    w.root.rebuild();
    w.require_root_of(both);
}

TEST_CASE("a forgotten root commits to nothing") {
    const scratch_folder folder;
    {
        two_types w(folder / "state", both);
        w.begin();
        w.root.forget();
        CHECK(w.root.root() == sha256_digest{});
        CHECK(w.root.types().empty());
        CHECK(w.root.objects() == 0);
        CHECK(w.root.recorded_types().empty());
    }
    two_types w(folder / "state", both);
    CHECK_FALSE(w.root.is_current());
    w.root.catch_up();
    w.require_root_of(both);
}

TEST_CASE("a tree of other types is not updated") {
    const scratch_folder folder;
    {
        two_types w(folder / "state", {"note"});
        w.begin();
    }
    two_types w(folder / "state", both);
    CHECK_THROWS_AS(w.block([&] { w.state.create<coin>([](coin&) {}); }), usage_error);
    w.root.catch_up();
    w.block([&] { w.change_coin(); });
    w.require_root_of(both);
}

TEST_CASE("undoing a root that was made anew gives back the one before") {
    const scratch_folder folder;
    two_types w(folder / "state", both);
    w.begin();
    const sha256_digest before = w.root.root();
    {
        const session undone = w.state.start_session();
        w.change_coin();
        w.root.rebuild();
        w.require_root_of(both);
        CHECK(w.root.root() != before);
    }
    CHECK(w.root.root() == before);
    CHECK(w.root.is_current());
    w.require_root_of(both);
}

TEST_CASE("types that cannot be committed to are refused") {
    const scratch_folder folder;
    two_types w(folder / "state", {}); // all that are added
    w.root.catch_up();
    CHECK_THROWS_AS(w.root.add<coin>("coin"), usage_error);
    CHECK_THROWS_AS(w.root.add<coin>("penny"), usage_error);
    CHECK(w.root.types() == both);
    w.some_objects();
    w.require_root_of(both);
}

TEST_CASE("the root is not brought up to date from a session that is gone") {
    const scratch_folder folder;
    two_types w(folder / "state", both);
    w.begin();
    const revision_number gone = w.state.revision();
    w.state.commit(gone);
    const sha256_digest before = w.root.root();
    CHECK_THROWS_AS(w.root.update(gone), usage_error);
    CHECK_THROWS_AS(w.root.update(gone + 1), usage_error);
    CHECK(w.root.root() == before);
    CHECK(w.root.is_current());
}

TEST_CASE("the digest of a block tells objects and what is gone apart") {
    const scratch_folder folder;
    const auto digest_of = [&](const std::string& name, auto work) {
        two_types w(folder / name, both);
        w.root.catch_up();
        w.block([&] {
            for (int i = 0; i < 2; ++i)
                w.state.create<coin>([](coin&) {});
        });
        session block = w.state.start_session();
        work(w.state);
        return w.root.update(block.revision());
    };
    const auto change = [](std::uint32_t number) {
        return [=](database& state) {
            state.modify(state.get(id<coin>(number)), [](coin& one) { one.amount = 5; });
        };
    };
    const auto remove = [](std::uint32_t number) {
        return [=](database& state) { state.remove(state.get(id<coin>(number))); };
    };
    const sha256_digest all[] = {digest_of("a", change(0)), digest_of("b", change(1)),
                                 digest_of("c", remove(0)), digest_of("d", remove(1)),
                                 digest_of("e", [](database&) {})};
    CHECK(std::set<sha256_digest>(std::begin(all), std::end(all)).size() == std::size(all));
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
        session one = state.start_session();
        work();
        root.update(one.revision());
        one.push();
        state.commit(one.revision());
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
