// The types of the state root: other types do not affect it, and after a change of the types or a
// restart it is the root of the objects of those types.

#include <archive/committed_state.hpp>
#include <chainbase/state_root/leaves_file.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/note.hpp>
#include <tests/archive/stores.hpp>
#include <tests/archive/world_with_root.hpp>
#include <tests/state_root/digests.hpp>
#include <tests/support/scratch_state.hpp>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

using namespace chainbase;
using namespace chainbase::test;
using archive::committed_state;

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
        rooted_block(state, root, work);
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
