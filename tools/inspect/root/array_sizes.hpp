#pragma once

#include <chainbase/state_root/node.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace chainbase::inspect {

/// Nodes of a tree by the number of their children; [0] is of no meaning.
using children_histogram = std::array<std::uint64_t, state_root::branches_per_node + 1>;

/// Sizes of the arrays in which nodes keep their children.
struct array_sizes {
    /// What a child takes in an array of the XRP Ledger, whose published figures are counted by it:
    /// a digest of 32 bytes, and a reference with what belongs to it. All sizes are multiples of
    /// it, so that it cancels out of the ratio.
    static constexpr unsigned bytes_per_child = 38;

    std::vector<unsigned> sparse; ///< rising, below 16: the other one is always 16
    /// Bytes of the arrays, each node with the smallest that its children fit, against arrays that
    /// are all of 16; 1 if there are no nodes.
    double ratio = 1;

    /// Of `nodes` with these sizes. Requires that they rise and are 1 to 15.
    [[nodiscard]] static array_sizes of(const children_histogram& nodes,
                                        std::vector<unsigned> sparse);
    /// The best set of `count` sizes below 16, of all that there are; of several, the first in the
    /// order of their numbers. Requires count < 16.
    [[nodiscard]] static array_sizes best(const children_histogram& nodes, unsigned count);
};

} // namespace chainbase::inspect
