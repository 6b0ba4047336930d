#pragma once

#include <chainbase/database.hpp>
#include <tools/driver/live/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace chainbase::driver::live {

/// How often one thread took a database's write lock, waited for it and held it.
struct lock_figures {
    std::uint64_t acquisitions = 0;
    nanoseconds waited{0};
    nanoseconds held{0};
    nanoseconds longest_wait{0};
    nanoseconds longest_hold{0};

    void add(nanoseconds wait, nanoseconds hold) noexcept {
        ++acquisitions;
        waited += wait;
        held += hold;
        longest_wait = std::max(longest_wait, wait);
        longest_hold = std::max(longest_hold, hold);
    }
};

/// Calls work() under the write lock and counts what that took. Costs three looks at the clock.
template <typename Work>
void with_metered_lock(database& state, lock_figures& figures, Work&& work) {
    const auto asked = clock::now();
    auto begin = asked;
    state.with_write_lock([&] {
        begin = clock::now();
        std::forward<Work>(work)();
    });
    figures.add(begin - asked, clock::now() - begin);
}

} // namespace chainbase::driver::live
