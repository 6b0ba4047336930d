#pragma once

#include <tools/block_log/bytes.hpp>

#include <cstdint>
#include <vector>

namespace chainbase {

/// What is applied as a whole or not at all. Operations are opaque here: the chain model that a log
/// belongs to encodes and decodes them.
struct transaction {
    std::vector<bytes> operations;

    friend bool operator==(const transaction&, const transaction&) = default;
};

/// One block of a chain, as the block log keeps it.
struct block {
    /// Rises strictly along a log; need neither begin at 1 nor be contiguous.
    std::uint64_t number = 0;
    /// Unix seconds.
    std::int64_t timestamp = 0;
    std::vector<transaction> transactions;

    friend bool operator==(const block&, const block&) = default;
};

/// The block as bytes (README.md draws them); equal blocks give equal bytes.
[[nodiscard]] bytes encode_block(const block& value);

/// Of the block's encoding: equal for equal blocks, however a log packs them.
[[nodiscard]] std::uint64_t checksum_of(const block& value);

/// The inverse of encode_block. Never reads outside `encoded`; throws damaged_error naming the
/// block's number and the byte offset within `encoded` when the input is anything else.
[[nodiscard]] block decode_block(byte_view encoded);

} // namespace chainbase
