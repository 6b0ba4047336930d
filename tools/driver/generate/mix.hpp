#pragma once

#include <tools/chains/checked.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace chainbase::generate {

/// Random numbers that are equal on all platforms for equal seeds (splitmix64); uses no
/// distribution of a standard library. Copyable; not thread-safe.
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
    /// True with probability count / of.
    bool chance(std::uint64_t count, std::uint64_t of) noexcept { return below(of) < count; }

private:
    std::uint64_t state_;
};

/// Frequency of each kind of operation: weights in the order of social::operation.
struct operation_mix {
    enum kind : std::uint8_t {
        account_create,
        comment,
        vote,
        custom,
        deposit,
        transfer,
        claim,
        comment_delete
    };
    static constexpr std::size_t kinds = 8;

    /// In thousandths; README.md explains the values.
    std::array<std::uint32_t, kinds> weights{5, 50, 250, 620, 5, 40, 30, 0};

    [[nodiscard]] std::uint64_t sum() const noexcept;
    [[nodiscard]] kind draw(random_numbers& random) const noexcept;

    friend bool operator==(const operation_mix&, const operation_mix&) = default;
};

[[nodiscard]] std::string_view name_of(operation_mix::kind kind) noexcept;

/// "custom=60,vote=22,comment=18": weights in any unit, 0 for a kind not named. Throws usage_error
/// naming what it does not understand, and when all weights are 0 or there are votes without
/// comments.
[[nodiscard]] operation_mix parse_mix(std::string_view text);

} // namespace chainbase::generate
