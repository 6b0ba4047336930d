#pragma once

#include <chainbase/state_root/sha256.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace chainbase {

/// Two digests that are hashed together: SHA-256 of the 64 bytes of both. `to` may be one of them,
/// if no other pair reads it.
struct digest_pair {
    const sha256_digest* left;
    const sha256_digest* right;
    sha256_digest* to;
};

/// How this processor hashes pairs. All ways come to the same digests.
enum class sha256_way : std::uint8_t {
    portable,         ///< one after the other
    avx2,             ///< eight at once, in vectors
    sha_instructions, ///< two at once, by the SHA instructions of x86 or ARMv8
};

[[nodiscard]] std::string_view name_of(sha256_way way) noexcept;

/// Those that this processor has, the fastest first.
[[nodiscard]] std::span<const sha256_way> sha256_ways() noexcept;

/// Hashes all pairs, in any order, in half the time that class sha256 takes for them: several at
/// once, and it is known beforehand what follows 64 bytes. Requires that the processor has `way`.
/// Thread-safe.
void hash_pairs(std::span<const digest_pair> pairs,
                sha256_way way = sha256_ways().front()) noexcept;

} // namespace chainbase
