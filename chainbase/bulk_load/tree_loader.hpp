#pragma once

#include <pool_allocator/pool.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace chainbase::bulk_load {

/// Links the nodes of a type for one ordered or ranked key, as compact_links.hpp lays links out: a
/// red-black tree of least height, all nodes black but those of a last level that is not full.
class tree_loader {
public:
    /// Of nodes that lie one after the other; that of slot 0 heads the tree. `links_at` is where
    /// the words of the key are in a node.
    tree_loader(std::byte* nodes, std::size_t node_bytes, std::size_t links_at,
                bool is_ranked) noexcept
        : nodes_(nodes), node_bytes_(node_bytes), links_at_(links_at), is_ranked_(is_ranked) {}

    /// Links all objects, which are in these slots, in this order.
    void link(std::span<const slot_number> order) noexcept;

private:
    [[nodiscard]] slot_number link(std::span<const slot_number> order, slot_number parent,
                                   int levels_above) noexcept;
    void store_links(slot_number slot, slot_number parent, slot_number left, slot_number right,
                     bool is_red) noexcept;
    void store(slot_number slot, std::size_t word, std::uint32_t value) noexcept;

    std::byte* nodes_;
    std::size_t node_bytes_;
    std::size_t links_at_;
    bool is_ranked_;
    int black_levels_ = 0; ///< nodes below so many levels are red
};

} // namespace chainbase::bulk_load
