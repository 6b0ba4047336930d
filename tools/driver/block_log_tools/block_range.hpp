#pragma once

#include <cstdint>

namespace chainbase::driver {

/// Numbers of blocks, the first and the last included.
struct block_range {
    std::uint64_t first = 0;
    std::uint64_t last = UINT64_MAX;

    [[nodiscard]] bool contains(std::uint64_t number) const noexcept {
        return first <= number && number <= last;
    }
};

} // namespace chainbase::driver
