#include <chainbase/rows/row_cursor.hpp>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace chainbase::rows {

bool id_cursor::advance(const type_rows& of, const visitor& visit) {
    const slot_reader& slots = of.slots();
    if (slots.next_id() == 0) return false;
    to_ = std::min<std::uint64_t>(to_, slots.next_id() - 1);
    while (from_ <= to_) {
        const std::uint64_t id = is_reverse_ ? to_ : from_;
        is_reverse_ ? --to_ : ++from_;
        const slot_number slot = slots.slot_of(static_cast<std::uint32_t>(id));
        const bool goes_on = slot == 0 || visit(slot);
        if (is_reverse_ && id == 0) return false;
        if (!goes_on) return from_ <= to_;
    }
    return false;
}

key_cursor::key_cursor(const type_schema::key& key, bounds within)
    : key_(key), within_(std::move(within)) {}

slot_number key_cursor::after(const tree_reader& tree, slot_number slot) const {
    return within_.is_reverse ? tree.previous(slot) : tree.next(slot);
}

slot_number key_cursor::start(const tree_reader& tree) const {
    if (!within_.is_reverse) return within_.from ? tree.lower_bound(*within_.from) : tree.first();
    const slot_number end = within_.to ? tree.upper_bound(*within_.to) : 0;
    return end == 0 ? tree.last() : tree.previous(end);
}

/// After the object that came last, if it is where it was; else from its key on, without those
/// that were visited.
slot_number key_cursor::resume(const type_rows& of, const tree_reader& tree) const {
    const slot_number last = of.slots().slot_of(visited_.back());
    if (last != 0 && last_->place_of(of.slots().value(last)) == 0) return after(tree, last);
    slot_number slot = tree.lower_bound(*last_);
    if (within_.is_reverse) {
        const slot_number end = tree.upper_bound(*last_);
        slot = end == 0 ? tree.last() : tree.previous(end);
    }
    const std::unordered_set<std::uint32_t> known(visited_.begin(), visited_.end());
    while (slot != 0 && known.contains(of.slots().id(slot)))
        slot = after(tree, slot);
    return slot;
}

bool key_cursor::is_within(const std::byte* object) const {
    if (within_.is_reverse) return !within_.from || within_.from->place_of(object) >= 0;
    return !within_.to || within_.to->place_of(object) <= 0;
}

bool key_cursor::advance(const type_rows& of, const visitor& visit) {
    const tree_reader tree = of.tree(key_).value();
    std::vector<slot_number> visited;
    slot_number slot = last_ ? resume(of, tree) : start(tree);
    for (; slot != 0 && is_within(of.slots().value(slot)); slot = after(tree, slot)) {
        visited.push_back(slot);
        if (visit(slot)) continue;
        remember(of, visited);
        return true;
    }
    return false;
}

void key_cursor::remember(const type_rows& of, const std::vector<slot_number>& visited) {
    const std::byte* const object = of.slots().value(visited.back());
    const bool is_same = last_ && last_->place_of(object) == 0;
    last_.emplace(of.schema(), key_, object, of.buffers());
    const auto equal = std::find_if(visited.rbegin(), visited.rend(), [&](slot_number slot) {
        return last_->place_of(of.slots().value(slot)) != 0;
    });
    if (!is_same || equal != visited.rend()) visited_.clear();
    std::for_each(equal.base(), visited.end(),
                  [&](slot_number slot) { visited_.push_back(of.slots().id(slot)); });
}

} // namespace chainbase::rows
