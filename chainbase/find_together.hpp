#pragma once

#include <pool_allocator/disk_pages.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>

namespace chainbase {

namespace detail {

inline constexpr std::size_t keys_worth_a_thread = 4;  ///< each misses a page or two
inline constexpr std::size_t misses_worth_threads = 4; ///< waking them takes as long

/// As view.find_many of the keys from `begin` to `end`.
template <typename View, std::ranges::random_access_range Keys, typename Pointer>
void find_some(const View& view, const Keys& keys, std::span<Pointer> found, std::size_t begin,
               std::size_t end) {
    const auto first = std::ranges::begin(keys);
    using distance = std::ranges::range_difference_t<const Keys>;
    view.find_many(std::ranges::subrange(first + static_cast<distance>(begin),
                                         first + static_cast<distance>(end)),
                   found.subspan(begin, end - begin));
}

/// Looks keys up in the calling thread until so many misses are to be expected among the rest that
/// threads are worth it: at once where most keys miss, and never where hardly one does. Returns how
/// many it looked up.
template <typename View, std::ranges::random_access_range Keys, typename Pointer>
std::size_t find_while_few_miss(const View& view, const Keys& keys, std::span<Pointer> found) {
    const std::size_t count = std::ranges::size(keys);
    const std::uint64_t before = disk_pages::misses_of_this_thread();
    std::size_t done = 0;
    for (std::size_t step = keys_worth_a_thread; done < count; step *= 2) {
        const std::size_t end = done + std::min(step, count - done);
        find_some(view, keys, found, done, end);
        done = end;
        const std::uint64_t misses = disk_pages::misses_of_this_thread() - before;
        if (misses * (count - done) >= misses_worth_threads * done) break;
    }
    return done;
}

/// The keys from `done` on, in many threads.
template <typename View, std::ranges::random_access_range Keys, typename Pointer>
void find_in_threads(const View& view, const Keys& keys, std::span<Pointer> found,
                     std::size_t done = 0) {
    const std::size_t count = std::ranges::size(keys) - done;
    if (count == 0) return;
    const std::size_t parts =
        std::clamp<std::size_t>(count / keys_worth_a_thread, 1, disk_pages::reads_at_once);
    disk_pages::in_parallel(parts, [&](std::size_t part) {
        find_some(view, keys, found, done + count * part / parts,
                  done + count * (part + 1) / parts);
    });
}

} // namespace detail

/// As view.find_many(keys, found) (see database::find_many), for a state that may be larger than
/// memory: while pages of it are missed, the keys are looked up in many threads, so that the disk
/// reads as many pages at once as it can instead of one after the other. While none are, or hardly
/// one of these keys misses, the calling thread looks them up.
///
/// The other threads only read, and are done when this returns. Requires and throws what find_many
/// does.
template <typename View, std::ranges::random_access_range Keys, typename Pointer>
void find_together(const View& view, const Keys& keys, std::span<Pointer> found) {
    const std::size_t count = std::ranges::size(keys);
    if (count > detail::keys_worth_a_thread && found.size() >= count && disk_pages::are_missed())
        detail::find_in_threads(view, keys, found, detail::find_while_few_miss(view, keys, found));
    else
        view.find_many(keys, found);
}

} // namespace chainbase
