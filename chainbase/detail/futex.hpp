#pragma once

#include <chrono>
#include <cstdint>

/// Sleeping on a word of a file that several processes have mapped; std::atomic::wait only knows
/// threads of one.
namespace chainbase::detail {

/// Sleeps until somebody wakes, `most` is over or a signal comes; not at all if the word is not
/// `seen`.
void sleep_on(const std::uint32_t& word, std::uint32_t seen,
              std::chrono::nanoseconds most) noexcept;

/// Wakes all who sleep on the word.
void wake_on(const std::uint32_t& word) noexcept;

} // namespace chainbase::detail
