#pragma once

#include <pool_allocator/disk_pages.hpp>

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <span>

namespace chainbase {

namespace detail {

inline constexpr std::size_t keys_worth_a_thread = 4; ///< each misses a page or two

/// As view.find_many(keys, found), in many threads.
template <typename View, std::ranges::random_access_range Keys, typename Pointer>
void find_in_threads(const View& view, const Keys& keys, std::span<Pointer> found) {
    const auto first = std::ranges::begin(keys);
    using distance = std::ranges::range_difference_t<const Keys>;
    const std::size_t count = std::ranges::size(keys);
    const std::size_t parts =
        std::clamp<std::size_t>(count / keys_worth_a_thread, 1, disk_pages::reads_at_once);
    disk_pages::in_parallel(parts, [&](std::size_t part) {
        const std::size_t begin = count * part / parts;
        const std::size_t end = count * (part + 1) / parts;
        view.find_many(std::ranges::subrange(first + static_cast<distance>(begin),
                                             first + static_cast<distance>(end)),
                       found.subspan(begin, end - begin));
    });
}

} // namespace detail

/// As view.find_many(keys, found) (see database::find_many), for a state that may be larger than
/// memory: while pages of it are missed, the keys are looked up in many threads, so that the disk
/// reads as many pages at once as it can instead of one after the other. While none are, the
/// calling thread looks them up.
///
/// The other threads only read, and are done when this returns. Requires and throws what find_many
/// does.
template <typename View, std::ranges::random_access_range Keys, typename Pointer>
void find_together(const View& view, const Keys& keys, std::span<Pointer> found) {
    const std::size_t count = std::ranges::size(keys);
    if (count > detail::keys_worth_a_thread && found.size() >= count && disk_pages::are_missed())
        detail::find_in_threads(view, keys, found);
    else
        view.find_many(keys, found);
}

} // namespace chainbase
