#include <chainbase/bulk_load/tree_loader.hpp>
#include <pool_allocator/compact_links.hpp>

#include <bit>
#include <cstring>

namespace chainbase::bulk_load {

namespace {

// Where the words of a node's links are (compact_links.hpp).
constexpr std::size_t parent_word = 0;
constexpr std::size_t left_word = 4;
constexpr std::size_t right_word = 8;
constexpr std::size_t size_word = 12;

constexpr slot_number nowhere = UINT32_MAX;

/// A link is a distance in nodes.
std::int32_t distance(slot_number from, slot_number to) noexcept {
    if (to == nowhere) return links::distance<int, sizeof(int)>::none;
    return static_cast<std::int32_t>(to - from);
}

std::uint32_t parent_of(slot_number from, slot_number to, bool is_red) noexcept {
    return static_cast<std::uint32_t>(distance(from, to)) << 1 | (is_red ? 0U : 1U);
}

} // namespace

void tree_loader::store(slot_number slot, std::size_t word, std::uint32_t value) noexcept {
    std::memcpy(nodes_ + slot * node_bytes_ + links_at_ + word, &value, sizeof value);
}

void tree_loader::store_links(slot_number slot, slot_number parent, slot_number left,
                              slot_number right, bool is_red) noexcept {
    store(slot, parent_word, parent_of(slot, parent, is_red));
    store(slot, left_word, static_cast<std::uint32_t>(distance(slot, left)));
    store(slot, right_word, static_cast<std::uint32_t>(distance(slot, right)));
}

slot_number tree_loader::link(std::span<const slot_number> order, slot_number parent,
                              int levels_above) noexcept {
    if (order.empty()) return nowhere;
    const std::size_t middle = order.size() / 2;
    const slot_number slot = order[middle];
    const slot_number left = link(order.first(middle), slot, levels_above + 1);
    const slot_number right = link(order.subspan(middle + 1), slot, levels_above + 1);
    store_links(slot, parent, left, right, levels_above >= black_levels_);
    if (is_ranked_) store(slot, size_word, static_cast<std::uint32_t>(order.size()));
    return slot;
}

void tree_loader::link(std::span<const slot_number> order) noexcept {
    black_levels_ = static_cast<int>(std::bit_width(order.size() + 1)) - 1; // which are full
    const slot_number root = link(order, 0, 0);
    const bool is_empty = order.empty();
    store_links(0, root, is_empty ? 0 : order.front(), is_empty ? 0 : order.back(), true);
}

} // namespace chainbase::bulk_load
