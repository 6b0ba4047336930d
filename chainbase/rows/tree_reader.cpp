#include <chainbase/rows/mapped_bytes.hpp>
#include <chainbase/rows/tree_reader.hpp>
#include <pool_allocator/compact_links.hpp>

namespace chainbase::rows {

namespace {

/// A red-black tree of 2^32 nodes is at most 64 high.
constexpr int highest = 65;

} // namespace

/// 0 also for the header, to which the root's parent link and those of an empty tree lead.
slot_number tree_reader::target(slot_number slot, link which) const {
    const std::size_t at = links_at_ + static_cast<std::size_t>(which);
    auto distance = static_cast<std::int32_t>(copy_at<std::uint32_t>(objects_.node(slot) + at));
    if (which == link::parent) distance >>= 1; // the lowest bit is the colour
    if (distance == links::distance<int, sizeof(int)>::none) return 0;
    const std::int64_t to = std::int64_t{slot} + distance;
    if (to < 0 || to > UINT32_MAX) objects_.throw_damaged(slot, at, "its link leads nowhere");
    return static_cast<slot_number>(to);
}

slot_number tree_reader::first() const {
    return target(0, link::left);
}

slot_number tree_reader::last() const {
    return target(0, link::right);
}

slot_number tree_reader::outermost(slot_number slot, link side) const {
    for (int height = 0; height < highest; ++height) {
        const slot_number below = target(slot, side);
        if (below == 0) return slot;
        slot = below;
    }
    objects_.throw_damaged(slot, links_at_, "its links lead round in a circle");
}

slot_number tree_reader::neighbour(slot_number slot, link side, link other) const {
    if (const slot_number below = target(slot, side); below != 0) return outermost(below, other);
    for (int height = 0; height < highest; ++height) {
        const slot_number above = target(slot, link::parent);
        if (above == 0 || target(above, side) != slot) return above;
        slot = above;
    }
    objects_.throw_damaged(slot, links_at_, "its links lead round in a circle");
}

slot_number tree_reader::next(slot_number slot) const {
    return neighbour(slot, link::right, link::left);
}

slot_number tree_reader::previous(slot_number slot) const {
    return neighbour(slot, link::left, link::right);
}

/// The first slot of which `is_before` does not hold, and of none after it.
template <typename IsBefore>
slot_number tree_reader::partition_point(IsBefore&& is_before) const {
    slot_number found = 0;
    slot_number slot = target(0, link::parent);
    for (int height = 0; slot != 0; ++height) {
        if (height == highest)
            objects_.throw_damaged(slot, links_at_, "its links lead round in a circle");
        const bool goes_right = is_before(objects_.value(slot));
        if (!goes_right) found = slot;
        slot = target(slot, goes_right ? link::right : link::left);
    }
    return found;
}

slot_number tree_reader::lower_bound(const probe& key) const {
    return partition_point([&](const std::byte* object) { return key.place_of(object) < 0; });
}

slot_number tree_reader::upper_bound(const probe& key) const {
    return partition_point([&](const std::byte* object) { return key.place_of(object) <= 0; });
}

} // namespace chainbase::rows
