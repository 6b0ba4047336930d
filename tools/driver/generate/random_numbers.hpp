#pragma once

#include <tools/chains/checked.hpp>

#include <cstdint>

namespace chainbase::generate {

/// Numbers that are the same everywhere for the same seed (splitmix64); no distribution of a
/// standard library has a part in them. Copyable; not thread-safe.
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) noexcept : state_(seed) {}

    /// All 64 bits.
    std::uint64_t next() noexcept {
        std::uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15U;
        z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9U;
        z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EBU;
        return z ^ z >> 31;
    }
    /// A number below `end`; 0 when that is 0.
    std::uint64_t below(std::uint64_t end) noexcept {
        return static_cast<std::uint64_t>(static_cast<uint128>(next()) * end >> 64);
    }
    /// A number from `least` to `most`.
    std::uint64_t between(std::uint64_t least, std::uint64_t most) noexcept {
        return least + below(most - least + 1);
    }
    /// True in `count` of `of` cases.
    bool chance(std::uint64_t count, std::uint64_t of) noexcept { return below(of) < count; }

private:
    std::uint64_t state_;
};

} // namespace chainbase::generate
