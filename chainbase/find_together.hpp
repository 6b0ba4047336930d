#pragma once

#include <pool_allocator/disk_pages.hpp>

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <span>

namespace chainbase {

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
    constexpr std::size_t worth_a_thread = 4; // keys, each of which misses a page or two
    if (count <= worth_a_thread || found.size() < count || !disk_pages::are_missed())
        return view.find_many(keys, found);
    const std::size_t parts = std::min(disk_pages::reads_at_once, count / worth_a_thread);
    disk_pages::together(parts, [&](std::size_t part) {
        const std::size_t begin = count * part / parts;
        const std::size_t end = count * (part + 1) / parts;
        const auto at = std::ranges::begin(keys);
        using distance = std::ranges::range_difference_t<const Keys>;
        view.find_many(std::ranges::subrange(at + static_cast<distance>(begin),
                                             at + static_cast<distance>(end)),
                       found.subspan(begin, end - begin));
    });
}

} // namespace chainbase
