#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <future>
#include <utility>

namespace chainbase::inspect {

/// Calls `make(number)` for 0 to `count` - 1, in `threads` threads at once at most, and
/// `take(piece)` with what each returned in this thread, in order. Throws what `make` and `take`
/// throw first; all threads have ended then.
template <typename Make, typename Take>
void made_in_order(std::size_t count, unsigned threads, const Make& make, const Take& take) {
    std::deque<std::future<decltype(make(std::size_t{}))>> ahead;
    std::size_t next = 0;
    for (std::size_t taken = 0; taken < count; ++taken) {
        for (; next < count && ahead.size() < std::max(threads, 1U); ++next)
            ahead.push_back(std::async(std::launch::async, [&make, next] { return make(next); }));
        auto piece = ahead.front().get();
        ahead.pop_front();
        take(std::move(piece));
    }
}

} // namespace chainbase::inspect
