#pragma once

#include <optional>
#include <string_view>

namespace chainbase::bench {

/// What a row of `chainbase` is to be at most: a ratio to a row of `classical`, or a figure in the
/// row's own unit.
struct goal {
    std::string_view operation;
    double at_most;
    /// The row of `classical` that `at_most` is a ratio to; empty for an absolute goal.
    std::string_view reference;
};

/// What any row of `chainbase` is to be at most, as a ratio to the same row of `heap`.
inline constexpr double at_most_of_heap = 1.3;

/// The goal of an operation of a bench, if it has one.
[[nodiscard]] std::optional<goal> goal_of(std::string_view operation) noexcept;

} // namespace chainbase::bench
