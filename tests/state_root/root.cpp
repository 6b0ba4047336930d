// The state root of a whole state, of its types as programs see them, and its thread pool.

#include <chainbase/database.hpp>
#include <chainbase/state_root/merkle_tree.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/thread_pool.hpp>

#include <catch2/catch.hpp>
#include <tests/state_root/modelled_tree.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using state_root::leaf_change;
using state_root::merkle_tree;

// The root from all leaves at once, and a tree that is emptied, opened again, or of another format.

namespace {

std::vector<leaf_change> first_objects(modelled_tree& of, std::uint32_t count) {
    std::vector<leaf_change> all;
    for (std::uint32_t id = 0; id < count; ++id)
        all.push_back(of.exists(id % 2 == 0 ? 0 : 1, id, id));
    return all;
}

} // namespace

TEST_CASE_METHOD(seeded, "the root from all leaves is that of the definition and of the tree") {
    for (const std::uint32_t count : {0, 1, 2, 3, 16, 17, 100, 3'000}) {
        CAPTURE(count);
        const scratch_folder folder;
        database db(folder / "state", quick_options());
        modelled_tree told(db);
        const auto all = first_objects(told, count);
        told.update(all);
        told.require_right();
        std::vector<state_root::whole_leaf> leaves;
        for (const leaf_change& one : all)
            leaves.insert(leaves.begin() +
                              random.below(static_cast<std::uint32_t>(leaves.size()) + 1),
                          {one.key, one.leaf});
        CHECK(state_root::root_of(leaves) == told.tree().root());
        std::ranges::reverse(leaves);
        CHECK(state_root::root_of(leaves) == told.tree().root());
    }
}

TEST_CASE("a tree that begins anew is empty and of other types") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    merkle_tree tree(db);
    CHECK(tree.revision() == -1);
    tree.reset({"account", "post"});
    state_root::tree_hash hash;
    const auto leaf_of = [&](const std::string& type, std::uint32_t id) {
        const sha256_digest key = hash.key(type, id);
        return leaf_change{key, hash.leaf(key, key), id, tree.type_numbers().at(type), true};
    };
    for (std::uint32_t id = 0; id < 100; ++id)
        tree.update({leaf_of("account", id), leaf_of("post", id)}, nullptr);
    CHECK(tree.size() == 200);
    CHECK(tree.revision() == db.revision());
    const sha256_digest before = tree.root();
    {
        const session undone = db.start_session();
        tree.reset({"post", "vote"});
        CHECK(tree.root() == sha256_digest{});
        CHECK(tree.size() == 0);
        CHECK(tree.revision() == -1);
        CHECK(tree.type_numbers().size() == 2);
        CHECK_FALSE(tree.type_numbers().contains("account"));
        const leaf_change one = leaf_of("vote", 7);
        tree.update({one}, nullptr);
        CHECK(tree.size() == 1);
        CHECK(tree.root() == state_root::root_of({{one.key, one.leaf}}));
        const auto found = state_root::find_leaf(tree.nodes(), one.key);
        REQUIRE(found);
        CHECK(tree.nodes().type_name(found->type) == "vote");
    }
    CHECK(tree.root() == before);
    CHECK(tree.size() == 200);
    CHECK(tree.type_numbers().contains("account"));
}

TEST_CASE("a tree that begins anew again and again uses no ids up") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    merkle_tree tree(db);
    state_root::tree_hash hash;
    const auto make = [&] {
        tree.reset({"account"});
        CHECK(state_root::tree_shape::of(tree.nodes()).leaves == 0);
        std::vector<leaf_change> all;
        for (std::uint32_t id = 0; id < 3'000; ++id) {
            const sha256_digest key = hash.key("account", id);
            all.push_back({key, hash.leaf(key, key), id, tree.type_numbers().at("account"), true});
        }
        tree.update(all, nullptr);
        return tree.root();
    };
    const auto nodes_made = [&] {
        std::vector<std::uint32_t> made;
        for (unsigned number = 0; number < state_root::capacities.size(); ++number)
            made.push_back(tree.nodes().made(number));
        return made;
    };
    const sha256_digest root = make();
    const auto made = nodes_made();
    const auto next = db.next_id<state_root::node<2>>();
    for (int times = 0; times < 5; ++times) {
        CHECK(make() == root);
        CHECK(nodes_made() == made);
        CHECK(db.next_id<state_root::node<2>>() == next);
        const auto shape = state_root::tree_shape::of(tree.nodes());
        for (unsigned number = 0; number < state_root::capacities.size(); ++number)
            CHECK(shape.nodes_by_capacity[number] + shape.free_by_capacity[number] == made[number]);
    }
    tree.reset({}); // turned off: the memory is for others
    CHECK(nodes_made() == std::vector<std::uint32_t>(state_root::capacities.size()));
    CHECK(make() == root);
}

TEST_CASE("a leaf can name as many types in turn as it has numbers for") {
    const scratch_folder folder;
    database db(folder / "state", quick_options());
    merkle_tree tree(db);
    std::set<std::string> names;
    for (int number = 0; number <= UINT16_MAX; ++number)
        names.insert("type " + std::to_string(number));
    tree.reset(names);
    CHECK(tree.type_numbers().size() == names.size());
    CHECK_THROWS_AS(tree.reset({"type 0", "another"}), limit_error);
    CHECK(tree.type_numbers().size() == names.size());
    CHECK_NOTHROW(tree.reset({"type 0"}));
    CHECK_THROWS_AS(tree.reset({"another"}), limit_error);
}

TEST_CASE("a tree that another version made can only begin anew") {
    const scratch_folder folder;
    {
        database db(folder / "state", quick_options());
        state_root::node_store nodes(db);
        nodes.make_head();
        db.modify(nodes.head(), [](state_root::tree_head& head) { ++head.format; });
    }
    database db(folder / "state", quick_options());
    merkle_tree tree(db);
    CHECK_FALSE(tree.is_of_this_format());
    CHECK_THROWS_AS(tree.update({}, nullptr), format_error);
    tree.reset({"account"});
    CHECK(tree.is_of_this_format());
    CHECK_NOTHROW(tree.update({}, nullptr));
}

TEST_CASE_METHOD(modelled_tree_state, "a tree that begins anew uses its nodes again") {
    std::vector<leaf_change> all;
    for (std::uint32_t id = 0; id < 3000; ++id)
        all.push_back(told.exists(id % 2 == 0 ? 0 : 1, id, id));
    told.update(all);
    const auto made = [&] {
        std::vector<std::uint32_t> nodes;
        for (unsigned number = 0; number < state_root::capacities.size(); ++number)
            nodes.push_back(told.tree().nodes().made(number));
        return nodes;
    };
    const auto before = made();
    const sha256_digest root = told.tree().root();
    const std::uint32_t ids = db.next_id<state_root::node<2>>().value;
    for (int times = 0; times < 5; ++times) {
        told.reset();
        CHECK(told.tree().revision() == -1);
        told.require_sound();
        told.update(all);
        told.require_right();
        told.require_sound();
    }
    CHECK(made() == before);
    CHECK(db.next_id<state_root::node<2>>().value == ids);
    {
        const session undone = db.start_session();
        told.reset();
    }
    CHECK(told.tree().root() == root);
    CHECK(state_root::tree_shape::of(told.tree().nodes()).leaves == all.size());
}

// Work that cannot be handed to all threads: those that got it have finished it before the caller
// sees the error.

namespace {

/// Of this thread: so many allocations succeed, the next one fails; negative: all succeed.
thread_local int allocations_left = -1;

bool is_to_fail() {
    return allocations_left >= 0 && allocations_left-- == 0;
}

} // namespace

/// Boost.Asio takes the memory for what is posted from here.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    void* place = nullptr;
    if (is_to_fail() || posix_memalign(&place, alignment, bytes) != 0) return nullptr;
    return place;
}

TEST_CASE("what was posted is done before the caller is told that more could not be") {
    for (int posted = 0; posted < 3; ++posted) {
        CAPTURE(posted);
        thread_pool pool(3);
        std::atomic<int> at_work{0};
        std::atomic<int> begun{0};
        const auto work = [&](std::size_t) {
            ++at_work;
            ++begun;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            --at_work;
        };
        allocations_left = posted;
        CHECK_THROWS_AS(pool.run(1'000, work), std::bad_alloc);
        allocations_left = -1;
        CHECK(at_work == 0);
        CHECK(begun <= posted);
        const int before = begun;
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        CHECK(begun == before);
        std::atomic<std::size_t> done{0};
        pool.run(40, [&](std::size_t) { ++done; });
        CHECK(done == 40);
    }
}

// Threads that share work: each part is done once, and a thread's exception reaches the caller.

TEST_CASE("each part of shared work is done once") {
    for (const unsigned threads : {1u, 3u}) {
        thread_pool pool(threads);
        for (const std::size_t count : {0u, 1u, 2u, 5u, 1000u}) {
            CAPTURE(threads, count);
            std::vector<std::atomic<int>> times(count);
            pool.run(count, [&](std::size_t number) { ++times[number]; });
            for (const auto& one : times)
                CHECK(one == 1);
        }
    }
}

TEST_CASE("a failure in shared work comes to the caller and the threads serve on") {
    thread_pool pool(1);
    for (std::size_t failing = 0; failing < 40; ++failing) {
        CAPTURE(failing);
        const auto work = [&](std::size_t number) {
            if (number == failing) throw std::runtime_error("one");
        };
        CHECK_THROWS_AS(pool.run(40, work), std::runtime_error);
    }
    std::atomic<std::size_t> done{0};
    pool.run(40, [&](std::size_t) { ++done; });
    CHECK(done == 40);
}

TEST_CASE("after a failure in shared work no further part is begun") {
    thread_pool pool(1);
    constexpr std::size_t count = 500;
    std::atomic<std::size_t> begun{0};
    const auto work = [&](std::size_t number) {
        ++begun;
        if (number == 0) throw std::runtime_error("the first");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    CHECK_THROWS_AS(pool.run(count, work), std::runtime_error);
    CHECK(begun < count);
}
