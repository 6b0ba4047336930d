#pragma once

#include <tools/block_log/block.hpp>
#include <tools/chains/rejected.hpp>

#include <cstddef>
#include <string>

namespace chainbase {

/// Calls apply(bytes) for every operation of the block, in order. What it throws comes out as a
/// rejected_error that says where: "transaction 2 of 3, operation 1 of 1: ...".
template <typename Apply>
void apply_operations(const block& from, Apply&& apply) {
    const auto place = [](std::size_t at, const auto& all) {
        return std::to_string(at + 1) + " of " + std::to_string(all.size());
    };
    for (std::size_t t = 0; t < from.transactions.size(); ++t) {
        const auto& operations = from.transactions[t].operations;
        for (std::size_t o = 0; o < operations.size(); ++o) {
            try {
                apply(operations[o]);
            } catch (const error& problem) {
                throw rejected_error("transaction " + place(t, from.transactions) + ", operation " +
                                     place(o, operations) + ": " + problem.what());
            }
        }
    }
}

} // namespace chainbase
