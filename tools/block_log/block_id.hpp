#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace chainbase {

/// Which block, and by that which chain of blocks leads to it: a hash over the parent's id and the
/// block's checksum. The id of no block, which the first one follows, is all zero.
///
/// Ids tell the blocks of honest peers apart. They are 128 bits of XXH3, so they prove nothing to
/// who does not trust the peer: a node that needs that has its own ids, with signatures.
struct block_id {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend auto operator<=>(const block_id&, const block_id&) = default;
};

/// The id of the block with the checksum `checksum` (of its encoding) that follows `parent`.
[[nodiscard]] block_id next_id(const block_id& parent, std::uint64_t checksum) noexcept;

/// 32 hexadecimal digits.
[[nodiscard]] std::string to_string(const block_id& id);

} // namespace chainbase

template <>
struct std::hash<chainbase::block_id> {
    std::size_t operator()(const chainbase::block_id& id) const noexcept { return id.low; }
};
