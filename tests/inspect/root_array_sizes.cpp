// root: which sizes of arrays would be best.
#include <tools/inspect/root/root_report.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/rooted_state.hpp>
#include <tests/support/random_source.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using inspect::array_sizes;
using inspect::children_histogram;
using nlohmann::json;

namespace {

/// By the definition, one node after the other.
double naive_ratio(const children_histogram& nodes, std::vector<unsigned> sizes) {
    sizes.push_back(16);
    double arrays = 0;
    double dense = 0;
    for (unsigned children = 1; children <= 16; ++children) {
        const unsigned fitting =
            *std::ranges::find_if(sizes, [&](unsigned size) { return size >= children; });
        arrays += 38.0 * fitting * static_cast<double>(nodes[children]);
        dense += 38.0 * 16 * static_cast<double>(nodes[children]);
    }
    return arrays / dense;
}

/// The least ratio of all sets of `count` sizes from `first` on, and those in `chosen`.
double naive_best(const children_histogram& nodes, unsigned count, unsigned first,
                  std::vector<unsigned>& chosen) {
    if (count == 0) return naive_ratio(nodes, chosen);
    double least = 2;
    for (unsigned size = first; size < 16; ++size) {
        chosen.push_back(size);
        least = std::min(least, naive_best(nodes, count - 1, size + 1, chosen));
        chosen.pop_back();
    }
    return least;
}

} // namespace

TEST_CASE("root: the best sizes of arrays are those of all sets") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    for (int round = 0; round < 20; ++round) {
        children_histogram nodes{};
        for (unsigned children = 1; children <= 16; ++children)
            nodes[children] = random.chance(800) ? random.below(1'000'000) : 0;
        nodes[16] += 1;
        for (unsigned count = 0; count <= 5; ++count) {
            CAPTURE(round, count);
            std::vector<unsigned> chosen;
            const array_sizes found = array_sizes::best(nodes, count);
            CHECK(found.sizes.size() == count);
            CHECK(found.ratio == Approx(naive_best(nodes, count, 1, chosen)));
            CHECK(found.ratio == Approx(naive_ratio(nodes, found.sizes)));
        }
    }
    CHECK(array_sizes::best({}, 3).ratio == 1);
}

// The sizes 2, 4 and 10 that were found for nodes counted in a ledger of the XRP Ledger's main net
// (83,592,201); of those with more than 10 children nothing was said.
TEST_CASE("root: the best three sizes for a published count of nodes") {
    const children_histogram nodes{0,      578'512, 2'840'810, 624'837, 120'458, 45'802,
                                   73'588, 129'694, 184'122,   208'545, 187'800};
    CHECK(array_sizes::best(nodes, 3).sizes == std::vector<unsigned>{2, 4, 10});
}

TEST_CASE("root: the table has the best sizes and those in use") {
    const rooted_state state;
    const json tree = state.root().at("tree");
    children_histogram nodes{};
    for (unsigned children = 1; children <= 16; ++children)
        nodes[children] = tree.at("nodes_by_children")[children - 1];
    REQUIRE(tree.at("best_sizes").size() == 6);
    CHECK(tree.at("best_sizes")[0] == json::parse(R"({"sizes": [], "ratio": 1.0})"));
    for (unsigned count = 1; count <= 5; ++count) {
        const json& best = tree.at("best_sizes")[count];
        const auto sizes = best.at("sizes").get<std::vector<unsigned>>();
        CHECK(sizes == array_sizes::best(nodes, count).sizes);
        CHECK(best.at("ratio").get<double>() == Approx(naive_ratio(nodes, sizes)));
    }
    const auto in_use = tree.at("sizes_in_use").at("sizes").get<std::vector<unsigned>>();
    CHECK(in_use == std::vector<unsigned>{2, 3, 5, 7, 8, 9, 11});
    CHECK(tree.at("sizes_in_use").at("ratio").get<double>() == Approx(naive_ratio(nodes, in_use)));
}
