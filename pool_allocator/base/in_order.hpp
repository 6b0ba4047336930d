#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace chainbase {

/// Calls `make(number)` for 0 to `count` - 1 in `threads` threads, several at once, and
/// `take(number)` in this thread, in order, each after its make(). At most four per thread wait to
/// be taken. Throws limit_error when a thread cannot be started, and the first exception of `make`
/// and `take`; all threads have ended then.
void in_order(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& make,
              const std::function<void(std::size_t)>& take);

/// As in_order(), passing the result of `make(number)` to `take(piece)`.
template <typename Make, typename Take>
void made_in_order(std::size_t count, unsigned threads, const Make& make, const Take& take) {
    std::vector<std::optional<decltype(make(std::size_t{}))>> made(count);
    in_order(
        count, threads, [&](std::size_t number) { made[number].emplace(make(number)); },
        [&](std::size_t number) {
            take(std::move(*made[number]));
            made[number].reset();
        });
}

} // namespace chainbase
