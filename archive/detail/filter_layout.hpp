#pragma once

#include <archive/bytes.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstdint>

namespace chainbase::archive::detail {

/// Where keys lie in a key_filter; the same for all types, so that whoever checks a state can ask
/// without knowing T.
///
/// A filter is of generations, each of four times as many blocks as the one before it: none has to
/// be made anew when it grows. 12 bits a key, 6 of them set, give 1 % of false answers a
/// generation.
struct filter_layout {
    static constexpr std::uint32_t words = 8;
    using block = std::array<std::uint64_t, words>;

    static constexpr std::uint32_t bits_per_key = 12;
    static constexpr std::uint32_t bits_set = 6;
    static constexpr std::uint32_t growth = 4;
    static constexpr std::uint32_t first_blocks = 1024; ///< of 512 bits: 43,690 keys

    /// Blocks [first, first + count) are for the keys [first_key, first_key + keys()).
    struct generation {
        std::uint32_t first = 0;
        std::uint32_t count = first_blocks;
        std::uint64_t first_key = 0;

        [[nodiscard]] std::uint64_t keys() const noexcept {
            return std::uint64_t{count} * words * 64 / bits_per_key;
        }
        [[nodiscard]] generation next() const noexcept {
            return {first + count, count * growth, first_key + keys()};
        }
        /// The number of the block for a key of this hash.
        [[nodiscard]] std::uint32_t block_of(std::uint64_t hash) const noexcept {
            return first + static_cast<std::uint32_t>((hash >> 32) * count >> 32);
        }
    };

    [[nodiscard]] static std::uint64_t hash(std::uint32_t index, bytes_view key) noexcept {
        return XXH3_64bits_withSeed(key.data(), key.size(), index);
    }

    /// The bits of a block that a key of this hash sets.
    [[nodiscard]] static block bits_of(std::uint64_t hash) noexcept {
        block bits{};
        std::uint64_t rest = hash * 0x9e3779b97f4a7c15u; // its upper half has chosen the block
        for (std::uint32_t n = 0; n < bits_set; ++n, rest >>= 9)
            bits[rest >> 6 & 7] |= std::uint64_t{1} << (rest & 63);
        return bits;
    }

    [[nodiscard]] static bool has(const block& in, const block& all) noexcept {
        std::uint64_t missing = 0;
        for (std::uint32_t n = 0; n < words; ++n)
            missing |= all[n] & ~in[n];
        return missing == 0;
    }
};

} // namespace chainbase::archive::detail
