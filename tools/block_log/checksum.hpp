#pragma once

#include <tools/block_log/bytes.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>

namespace chainbase {

/// XXH3-64 of the bytes: finds damage, not forgery.
[[nodiscard]] inline std::uint64_t checksum(byte_view data) noexcept {
    return XXH3_64bits(data.data(), data.size());
}

} // namespace chainbase
