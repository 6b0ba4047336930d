#include <tools/inspect/root/array_sizes.hpp>

#include <bit>
#include <utility>

namespace chainbase::inspect {

namespace {

using state_root::branches_per_node;

/// Bit i of a set: there is the size i.
using size_set = std::uint32_t;

/// Places for children in all arrays.
std::uint64_t places(const children_histogram& nodes, size_set sparse) {
    std::uint64_t sum = 0;
    std::uint64_t fitting = branches_per_node; // from the largest number of children down
    for (unsigned children = branches_per_node; children > 0; --children) {
        if (sparse >> children & 1) fitting = children;
        sum += nodes[children] * fitting;
    }
    return sum;
}

std::vector<unsigned> sizes_of(size_set set) {
    std::vector<unsigned> all;
    for (unsigned size = 1; size < branches_per_node; ++size)
        if (set >> size & 1) all.push_back(size);
    return all;
}

} // namespace

array_sizes array_sizes::of(const children_histogram& nodes, std::vector<unsigned> sparse) {
    size_set set = 0;
    for (const unsigned size : sparse)
        set |= size_set{1} << size;
    const std::uint64_t dense = places(nodes, 0);
    const double ratio =
        dense == 0 ? 1 : static_cast<double>(places(nodes, set)) / static_cast<double>(dense);
    return {std::move(sparse), ratio};
}

array_sizes array_sizes::best(const children_histogram& nodes, unsigned count) {
    array_sizes found;
    std::uint64_t least = UINT64_MAX;
    constexpr size_set end = size_set{1} << branches_per_node;
    for (size_set set = 0; set < end; set += 2) { // no size 0
        if (static_cast<unsigned>(std::popcount(set)) != count) continue;
        const std::uint64_t sum = places(nodes, set);
        const bool is_better = sum < least || (sum == least && sizes_of(set) < found.sparse);
        if (!is_better) continue;
        least = sum;
        found.sparse = sizes_of(set);
    }
    return of(nodes, std::move(found.sparse));
}

} // namespace chainbase::inspect
