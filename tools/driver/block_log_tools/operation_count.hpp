#pragma once

#include <tools/block_log/block.hpp>

#include <cstdint>

namespace chainbase::driver {

/// Operations in the block, of all its transactions.
[[nodiscard]] inline std::uint64_t operations_in(const block& of) noexcept {
    std::uint64_t sum = 0;
    for (const transaction& part : of.transactions)
        sum += part.operations.size();
    return sum;
}

} // namespace chainbase::driver
