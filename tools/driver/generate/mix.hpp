#pragma once

#include <tools/driver/generate/random_numbers.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace chainbase::generate {

/// How often each kind of operation comes: weights in the order of social::operation.
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

    /// In thousandths; README.md says why these.
    std::array<std::uint32_t, kinds> weights{5, 50, 250, 620, 5, 40, 30, 0};

    [[nodiscard]] std::uint64_t sum() const noexcept;
    [[nodiscard]] kind draw(random_numbers& random) const noexcept;

    friend bool operator==(const operation_mix&, const operation_mix&) = default;
};

[[nodiscard]] std::string_view name_of(operation_mix::kind kind) noexcept;

/// "custom=60,vote=22,comment=18": weights in any unit, 0 for a kind that is not named. Throws
/// usage_error naming what it does not understand, and when there would be nothing at all to draw
/// or votes without comments.
[[nodiscard]] operation_mix parse_mix(std::string_view text);

} // namespace chainbase::generate
