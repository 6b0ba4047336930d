#pragma once

#include <tools/block_log/block.hpp>
#include <tools/chains/rejected.hpp>

#include <cstddef>
#include <string>

namespace chainbase {

/// Calls apply(decode(bytes)) for every operation of the block, in order.
///
/// What the block itself causes comes out as a rejected_error that says where ("transaction 2 of 3,
/// operation 1 of 1: ..."): bytes that decode() refuses, a broken rule, a key that is taken or does
/// not exist. Everything else passes as it is, above all a database or a store that has no room or
/// cannot be read: another copy of the block would change nothing about that.
template <typename Decode, typename Apply>
void apply_operations(const block& from, Decode&& decode, Apply&& apply) {
    // Only here is damage the block's own: the store says damaged_error, too.
    const auto decoded = [&](const bytes& one) {
        try {
            return decode(one);
        } catch (const damaged_error& problem) {
            throw rejected_error(problem.what());
        }
    };
    const auto place = [](std::size_t at, const auto& all) {
        return std::to_string(at + 1) + " of " + std::to_string(all.size());
    };
    for (std::size_t t = 0; t < from.transactions.size(); ++t) {
        const auto& operations = from.transactions[t].operations;
        for (std::size_t o = 0; o < operations.size(); ++o) {
            const auto reject = [&](const error& problem) {
                throw rejected_error("transaction " + place(t, from.transactions) + ", operation " +
                                     place(o, operations) + ": " + problem.what());
            };
            try {
                apply(decoded(operations[o]));
            } catch (const rejected_error& problem) {
                reject(problem);
            } catch (const duplicate_key_error& problem) {
                reject(problem);
            } catch (const not_found_error& problem) {
                reject(problem);
            }
        }
    }
}

} // namespace chainbase
