// What bisect finds in two trees, which it reads a few nodes at a time, is what state_root::diff
// finds.
#include <chainbase/state_root/merkle_tree.hpp>

#include <tests/support/random_source.hpp>
#include <tests/tools/generated_logs.hpp>
#include <tests/tools/two_runs.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;

namespace {

using object_names = std::vector<std::pair<std::string, std::uint32_t>>;

/// By type and id.
object_names differences(two_runs& runs) {
    database a(runs.folder("a"), {});
    database b(runs.folder("b"), {});
    const state_root::merkle_tree tree_a(a);
    const state_root::merkle_tree tree_b(b);
    object_names all;
    state_root::diff(tree_a.nodes(), tree_b.nodes(), [&](const state_root::difference& one) {
        all.emplace_back(one.type, one.id);
    });
    std::ranges::sort(all);
    return all;
}

void require_found(two_runs& runs) {
    const object_names expected = differences(runs);
    const json found = runs.bisect(5, {"--objects", "1000000"});
    object_names names;
    for (const json& one : found["objects"])
        names.emplace_back(one["type"], one["id"]);
    CHECK(found["different_objects"] == expected.size());
    CHECK(names == expected);
    const json some = runs.bisect(5, {"--objects", "7"});
    CHECK(some["different_objects"] == expected.size());
    REQUIRE(some["objects"].size() == std::min<std::size_t>(7, expected.size()));
    for (const json& one : some["objects"])
        CHECK(std::ranges::find(found["objects"], one) != found["objects"].end());
}

} // namespace

TEST_CASE("bisect finds in two trees what their difference is") {
    const std::uint64_t seed = test_seed(new_seed());
    INFO("CHAINBASE_TEST_SEED=" << seed);
    std::vector<block> blocks = all_blocks(social_chain(6'000, seed));
    std::vector<block> others;
    SECTION("of chains that have little in common, each with objects of its own") {
        auto options = social_chain(3'000, seed + 1);
        options.mix = deleting_mix();
        others = all_blocks(options);
    }
    SECTION("of chains that differ in their last block") {
        others = blocks;
        const std::uint64_t next = blocks.back().number + 1;
        const std::int64_t time = blocks.back().timestamp + 3;
        blocks.push_back(block_of(next, time, account("one")));
        others.push_back(block_of(next, time, account("other"), account("another")));
    }
    two_runs runs(blocks, others);
    runs.replay("a");
    runs.replay("b");
    require_found(runs);
}
