#pragma once

#include <tools/block_log/bytes.hpp>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace chainbase {

/// A unit that is applied as a whole or not at all. The log treats operations as opaque bytes; the
/// log's chain model encodes and decodes them.
struct transaction {
    std::vector<bytes> operations;

    friend bool operator==(const transaction&, const transaction&) = default;
};

/// One block of a chain, as the block log keeps it.
struct block {
    /// Rises strictly along a log; it need not begin at 1 nor be contiguous.
    std::uint64_t number = 0;
    /// Unix seconds.
    std::int64_t timestamp = 0;
    std::vector<transaction> transactions;

    friend bool operator==(const block&, const block&) = default;
};

/// The block as bytes (README.md draws them); equal blocks give equal bytes.
[[nodiscard]] bytes encode_block(const block& value);

/// Checksum of the block's encoding: equal for equal blocks, however a log packs them.
[[nodiscard]] std::uint64_t checksum_of(const block& value);

/// The inverse of encode_block. Never reads outside `encoded`; throws damaged_error naming the
/// block's number and the byte offset within `encoded` when the input is anything else.
[[nodiscard]] block decode_block(byte_view encoded);

/// Identifies a block and the chain of blocks that leads to it: a hash over the parent's id and the
/// block's checksum. The parent id of the first block is all zero.
///
/// Ids tell the blocks of honest peers apart. They are 128 bits of XXH3, so they prove nothing to
/// a node that does not trust the peer: such a node has its own ids, with signatures.
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
