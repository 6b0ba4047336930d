#pragma once

#include <tools/block_log/block.hpp>

#include <cstdint>

namespace chainbase::driver {

/// 64 bits of XXH3 over the block's number, time and operations: the same for equal blocks, however
/// a log packs them.
[[nodiscard]] std::uint64_t checksum_of(const block& of);

} // namespace chainbase::driver
