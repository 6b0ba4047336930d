#pragma once

#include <archive/bytes.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace chainbase::inspect {

/// Makes pieces 0 to `count` - 1 in `threads` threads, and gives them to `take` in this thread, in
/// their order. Not more than a few pieces for each thread wait to be taken. Throws what `make` and
/// `take` throw first; all threads have ended then. `make` is called by several threads at once.
void in_order(std::size_t count, unsigned threads,
              const std::function<archive::byte_buffer(std::size_t)>& make,
              const std::function<void(archive::bytes_view)>& take);

/// The same for pieces of any type, which `make(number)` returns and `take(piece)` is given.
template <typename Make, typename Take>
void made_in_order(std::size_t count, unsigned threads, const Make& make, const Take& take) {
    std::vector<std::optional<decltype(make(std::size_t{}))>> made(count);
    std::size_t next = 0;
    in_order(
        count, threads,
        [&](std::size_t number) {
            made[number].emplace(make(number));
            return archive::byte_buffer();
        },
        [&](archive::bytes_view) {
            take(std::move(*made[next]));
            made[next++].reset();
        });
}

} // namespace chainbase::inspect
