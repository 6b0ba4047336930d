#pragma once

#include <chainbase/rows/probe.hpp>
#include <chainbase/rows/slot_reader.hpp>
#include <chainbase/rows/type_layout.hpp>

namespace chainbase::rows {

/// An ordered or ranked key: its objects in order, and where a key is among them. What
/// compact_links.hpp lays out, read word by word.
///
/// Slot 0 stands for "none". All functions throw damaged_error when links lead out of the file or
/// round in circles. Thread-safe.
class tree_reader {
public:
    /// `objects` outlives it.
    tree_reader(const slot_reader& objects, const type_layout::tree& of) noexcept
        : objects_(objects), links_at_(of.links_at) {}

    [[nodiscard]] slot_number first() const;
    [[nodiscard]] slot_number last() const;
    [[nodiscard]] slot_number next(slot_number slot) const;
    [[nodiscard]] slot_number previous(slot_number slot) const;
    /// The first one whose key does not come before `key`; with fewer parts, the first of those
    /// that begin with it.
    [[nodiscard]] slot_number lower_bound(const probe& key) const;
    /// The first one whose key comes after `key` and all that begin with it.
    [[nodiscard]] slot_number upper_bound(const probe& key) const;

private:
    /// Where the words of a node's links are.
    enum class link : std::size_t { parent = 0, left = 4, right = 8 };

    [[nodiscard]] slot_number target(slot_number slot, link which) const;
    [[nodiscard]] slot_number outermost(slot_number slot, link side) const;
    [[nodiscard]] slot_number neighbour(slot_number slot, link side, link other) const;
    template <typename IsBefore>
    [[nodiscard]] slot_number partition_point(IsBefore&& is_before) const;

    const slot_reader& objects_;
    std::size_t links_at_;
};

} // namespace chainbase::rows
