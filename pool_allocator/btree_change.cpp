#include <pool_allocator/base/error.hpp>
#include <pool_allocator/btree_images.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace chainbase {

using detail::cut;
using detail::free_level;
using detail::slice_at;

namespace {

constexpr int moved_at_once = 256; ///< bounds the log that one part of a compaction takes

} // namespace

// --- changing ---

void btree::log(void* from, std::size_t bytes) {
    barrier_->reserve(write_barrier::record_bytes(bytes));
    barrier_->record(from, bytes);
}

void btree::touch() {
    barrier_->reserve(write_barrier::record_bytes(sizeof state_));
    barrier_->touch(root_block_);
}

/// So that take() finds its nodes without growing the file between two changes.
void btree::reserve_nodes(std::uint32_t nodes) {
    if (nodes > state_.nodes.free()) nodes_.reserve(nodes - state_.nodes.free() + 1);
}

std::uint32_t btree::take() {
    if (state_.nodes.free_head >= state_.nodes.high_water) [[unlikely]]
        throw_damaged(state_.nodes.free_head,
                      "first of the free ones, of " + std::to_string(state_.nodes.high_water));
    if (state_.nodes.free_head == 0)
        nodes_.reserve();
    else if (node_at(state_.nodes.free_head).level != free_level) [[unlikely]]
        throw_damaged(state_.nodes.free_head, "first of the free ones, but in use");
    barrier_->reserve(write_barrier::record_bytes(sizeof(btree_node)));
    return state_.nodes.slot_of(state_.nodes.take());
}

void btree::give(std::uint32_t number) {
    btree_node& node = node_at(number);
    log(&node, offsetof(btree_node, previous));
    node.level = free_level;
    barrier_->reserve(write_barrier::record_bytes(sizeof(slot_number)));
    state_.nodes.give(&node);
}

/// Throws unless two leaves, or a leaf and the end, say of each other that they are neighbours.
void btree::require_neighbours(std::uint32_t before, std::uint32_t after) const {
    const bool says_before = (before == 0 ? state_.first : checked(before, 0).next) == after;
    const bool says_after = (after == 0 ? state_.last : checked(after, 0).previous) == before;
    if (!says_before || !says_after) [[unlikely]]
        throw_damaged(says_before ? after : before,
                      "it does not have the neighbour that has it for one");
}

/// Makes two leaves neighbours; 0 stands for the end.
void btree::link(std::uint32_t before, std::uint32_t after) {
    const auto set = [&](std::uint32_t& word, std::uint32_t value) {
        if (word == value) return;
        log(&word, sizeof word);
        word = value;
    };
    if (before == 0)
        state_.first = after;
    else
        set(checked(before, 0).next, after);
    if (after == 0)
        state_.last = before;
    else
        set(checked(after, 0).previous, before);
}

/// Shifts the fewer entries, if there is room on their side.
void btree::insert_entry(btree_node& leaf, std::uint32_t index, btree_entry entry) {
    constexpr std::size_t head = offsetof(btree_node, previous);
    btree_entry* entries = entries_of(leaf) + leaf.begin;
    const std::uint32_t behind = leaf.count - index;
    const bool has_room_behind = leaf.begin + leaf.count < entries_;
    log(&leaf, head);
    if (leaf.begin != 0 && (index < behind || !has_room_behind)) {
        log(entries - 1, (index + 1) * sizeof entry);
        std::copy(entries, entries + index, entries - 1);
        entries[static_cast<std::ptrdiff_t>(index) - 1] = entry;
        --leaf.begin;
    } else {
        log(entries + index, (behind + 1) * sizeof entry);
        std::copy_backward(entries + index, entries + leaf.count, entries + leaf.count + 1);
        entries[index] = entry;
    }
    ++leaf.count;
}

void btree::erase_entry(btree_node& leaf, std::uint32_t index) {
    constexpr std::size_t head = offsetof(btree_node, previous);
    btree_entry* entries = entries_of(leaf) + leaf.begin;
    const std::uint32_t behind = leaf.count - index - 1;
    log(&leaf, head);
    if (index < behind) {
        if (index != 0) log(entries + 1, index * sizeof(btree_entry));
        std::copy_backward(entries, entries + index, entries + index + 1);
        ++leaf.begin;
    } else if (behind != 0) {
        log(entries + index, behind * sizeof(btree_entry));
        std::copy(entries + index + 1, entries + leaf.count, entries + index);
    }
    --leaf.count;
}

slot_number btree::insert(search& at, slot_number slot) {
    if (at.found != 0) return at.found;
    touch();
    ++state_.size;
    if (state_.levels == 0) {
        const std::uint32_t node = take();
        node_at(node).previous = node_at(node).next = 0;
        write(node_at(node), {at.key.bits, bits_, 1, {btree_entry{0, slot}}});
        state_.root = state_.first = state_.last = node;
        state_.levels = 1;
        return 0;
    }
    btree_node& leaf = node_at(at.path[0].node);
    if (leaf.count == entries_) {
        split(at, slot);
        return 0;
    }
    leaf_image image;
    std::copy_n(leaf.rest.begin(), words_, image.prefix.begin());
    const std::size_t common = common_bits(cut(at.key.bits, leaf.shared), image.prefix);
    if (common < leaf.shared) {
        image = image_of(leaf);
        share_fewer(image, common);
        log(&leaf, sizeof leaf);
        write(leaf, image);
    }
    insert_entry(leaf, at.path[0].index, {slice_at(at.key.bits, leaf.shared), slot});
    return 0;
}

/// Splits a full leaf to make room for a new entry: in the middle, unless the entry beside it is
/// the newest. Then entries come in order, and those that follow would find a half that stays full;
/// so the cut is where they come.
void btree::split(search& at, slot_number slot) {
    reserve_nodes(state_.levels + 1);
    const auto [number, index] = at.path[0];
    btree_node& leaf = node_at(number);
    leaf_image all = image_of(leaf);
    const auto newest = static_cast<std::uint32_t>(
        std::max_element(all.entries.begin(), all.entries.begin() + all.count,
                         [](btree_entry a, btree_entry b) { return a.slot < b.slot; }) -
        all.entries.begin());
    const std::size_t common = common_bits(cut(at.key.bits, all.shared), all.prefix);
    if (common < all.shared) share_fewer(all, common);
    all.insert(index, {slice_at(at.key.bits, all.shared), slot});
    std::uint32_t middle = all.count / 2;
    if (newest + 1 == index)
        middle = std::min(index + 1, all.count - 1);
    else if (newest == index)
        middle = std::max(index, 1U);
    const bool is_left = index == 0 && middle == 1; // the new entry alone, before the leaf
    const bool is_alone = is_left || (index + 1 == all.count && middle == index);
    const auto bits_of = [&, i = index](std::uint32_t entry) {
        return entry == i ? at.key.bits : keys_.read(all.entries[entry].slot);
    };
    separator between{bits_of(middle)};
    if (is_any_length_ && bits_of(middle - 1) == between.bits)
        between.tie = all.entries[middle].slot;
    const std::uint32_t fresh = take();
    btree_node& other = node_at(fresh);
    if (is_left)
        require_neighbours(leaf.previous, number);
    else
        require_neighbours(number, leaf.next);
    other.previous = is_left ? leaf.previous : number;
    other.next = is_left ? number : leaf.next;
    if (is_alone) {
        write(other, {at.key.bits, bits_, 1, {btree_entry{0, slot}}});
    } else {
        leaf_image right = all.part(middle, all.count);
        leaf_image left = all.part(0, middle);
        share_more(right);
        share_more(left);
        write(other, right);
        if (index >= middle && left.shared == leaf.shared) {
            log(&leaf, sizeof leaf.count + sizeof leaf.begin);
            leaf.count = static_cast<std::uint16_t>(middle);
        } else {
            log(&leaf, sizeof leaf);
            write(leaf, left);
        }
    }
    link(other.previous, fresh);
    link(fresh, other.next);
    add_child(at, 1, between, fresh, is_left);
}

/// Enters a node that was split off from the one at the search's turn in the level below.
void btree::add_child(const search& at, std::uint32_t level, const separator& between,
                      std::uint32_t child, bool is_left) {
    if (level == state_.levels) {
        if (level == max_levels) throw_damaged(state_.root, "the tree is too high");
        inner_image top;
        top.level = level;
        top.children[0] = state_.root;
        top.insert(0, between, child, is_left);
        state_.root = take();
        write(node_at(state_.root), top);
        ++state_.levels;
        return;
    }
    const auto [number, index] = at.path[level];
    btree_node& node = node_at(number);
    inner_image all = inner_image_of(node);
    const bool is_last = [&] {
        for (std::uint32_t above = level; above < state_.levels; ++above)
            if (at.path[above].index != node_at(at.path[above].node).count) return false;
        return !is_left;
    }();
    all.insert(index, between, child, is_left);
    log(&node, sizeof node);
    if (all.count <= separators_) {
        write(node, all);
        return;
    }
    // Where keys are appended, what is before stays full.
    const std::uint32_t middle = is_last ? all.count - 1 : all.count / 2;
    const std::uint32_t fresh = take();
    write(node_at(fresh), all.part(middle + 1, all.count));
    write(node, all.part(0, middle));
    add_child(at, level + 1, all.separators[middle], fresh, false);
}

void btree::erase(search& at, slot_number slot) {
    find_entry(at, slot);
    touch();
    --state_.size;
    const auto [number, index] = at.path[0];
    btree_node& leaf = node_at(number);
    pass_tie(at, slot);
    erase_entry(leaf, index);
    if (leaf.count == 0)
        remove_leaf(at, state_.levels > 1 ? at.path[1].index : 0, number);
    else if (leaf.count < entries_ / 3 && state_.levels > 1)
        join(at, std::max(at.path[1].index, 1U), entries_ * 3 / 4);
}

/// The tie that an object at the search's entry is, or null. While it is there it is the first one
/// right of the separator, so it is the first of a leaf, and the separator the last one on the way.
slot_number* btree::tie_at(const search& at, slot_number slot) const {
    if (!is_any_length_ || at.path[0].index != 0) return nullptr;
    std::uint32_t level = 1;
    while (level < state_.levels && at.path[level].index == 0)
        ++level;
    if (level >= state_.levels) return nullptr;
    slot_number& tie = ties_of(node_at(at.path[level].node))[at.path[level].index - 1];
    return tie == slot ? &tie : nullptr;
}

/// Before an object leaves that is a tie: the one behind it is what the separator is from then on,
/// if it is right of it at all; else the separator goes, too.
void btree::pass_tie(const search& at, slot_number slot) {
    const auto [leaf, index] = at.path[0];
    const place behind = tie_at(at, slot) ? normal({leaf, index + 1}) : place{};
    if (behind.leaf == 0) return;
    const slot_number to = slot_at(behind);
    std::uint32_t level = 1;
    while (at.path[level].index == 0)
        ++level;
    const auto [number, turn] = at.path[level];
    btree_node& node = node_at(number);
    inner_image image = inner_image_of(node);
    image.separators[turn - 1] = {keys_.read(to), to};
    log(&node, sizeof node);
    write(node, image);
}

/// Both searches wait for memory together. The second one is made again if its leaf may be another
/// by then.
slot_number btree::move(const btree_wanted& from, const btree_wanted& to, slot_number slot) {
    if (is_any_length_) { // what the object is a tie of would mislead the second one
        erase(from, slot);
        return insert(to, slot);
    }
    search old = start(from);
    search next = start(to);
    for (bool more = true; more;) {
        more = step(old);
        more = step(next) || more;
    }
    const std::uint32_t nodes = state_.nodes.live;
    const std::uint32_t leaf = old.path[0].node;
    erase(old, slot);
    if (state_.nodes.live != nodes || next.path[0].node == leaf) next = at_leaf(to);
    finish(next);
    return insert(next, slot);
}

void btree::remove_leaf(const search& at, std::uint32_t child, std::uint32_t number) {
    const std::uint32_t before = node_at(number).previous;
    const std::uint32_t after = node_at(number).next;
    const bool is_linked = (before == 0 ? state_.first : checked(before, 0).next) == number &&
                           (after == 0 ? state_.last : checked(after, 0).previous) == number;
    if (!is_linked) [[unlikely]]
        throw_damaged(number, "its neighbours do not have it for one");
    link(before, after);
    give(number);
    remove_child(at, 1, child);
}

/// Joins child `right` of the search's node of level 1, if it has that, with the one before it, if
/// both together have at most `most` entries.
bool btree::join(const search& at, std::uint32_t right_index, std::uint32_t most) {
    btree_node& parent = node_at(at.path[1].node);
    if (right_index > parent.count) return false;
    const std::uint32_t right_number = children_of(parent)[right_index];
    btree_node& left = checked(children_of(parent)[right_index - 1], 0);
    btree_node& right = checked(right_number, 0);
    if (std::uint32_t{left.count} + right.count > most) return false;
    leaf_image all = image_of(left);
    leaf_image more = image_of(right);
    const std::size_t shared =
        std::min({all.shared, more.shared, common_bits(all.prefix, more.prefix)});
    share_fewer(all, shared);
    share_fewer(more, shared);
    all.append(more);
    log(&left, sizeof left);
    write(left, all);
    remove_leaf(at, right_index, right_number);
    return true;
}

/// Takes a child out of the node of a level in which the search turned.
void btree::remove_child(const search& at, std::uint32_t level, std::uint32_t index) {
    if (level == state_.levels) { // the root itself
        state_.root = 0;
        state_.levels = 0;
        return;
    }
    const std::uint32_t number = at.path[level].node;
    btree_node& node = node_at(number);
    if (node.count == 0) { // its only child
        give(number);
        if (level + 1 < state_.levels)
            remove_child(at, level + 1, at.path[level + 1].index);
        else
            remove_child(at, level + 1, 0);
        return;
    }
    inner_image rest = inner_image_of(node);
    rest.erase(index);
    log(&node, sizeof node);
    write(node, rest);
    if (level + 1 < state_.levels) {
        if (rest.count < separators_ / 3) merge_inner(at, level);
        return;
    }
    while (state_.levels > 1 && checked(state_.root, state_.levels - 1).count == 0) {
        const std::uint32_t top = state_.root;
        state_.root = children_of(node_at(top))[0];
        --state_.levels;
        give(top);
    }
}

void btree::merge_inner(const search& at, std::uint32_t level) {
    btree_node& parent = node_at(at.path[level + 1].node);
    if (parent.count == 0) return;
    const std::uint32_t right_index = std::max(at.path[level + 1].index, 1U);
    const std::uint32_t right_number = children_of(parent)[right_index];
    btree_node& left = checked(children_of(parent)[right_index - 1], level);
    btree_node& right = checked(right_number, level);
    if (left.count + right.count + 1U > separators_ * 3 / 4) return;
    inner_image all = inner_image_of(left);
    all.append(inner_image_of(parent).separators[right_index - 1], inner_image_of(right));
    log(&left, sizeof left);
    write(left, all);
    give(right_number);
    remove_child(at, level + 1, right_index);
}

void btree::replace(const btree_wanted& key, slot_number slot, slot_number to) {
    search at = at_leaf(key, slot);
    find_entry(at, slot);
    btree_node& leaf = node_at(at.path[0].node);
    for (slot_number* word :
         {&entries_of(leaf)[leaf.begin + at.path[0].index].slot, tie_at(at, slot)}) {
        if (!word) continue;
        log(word, sizeof *word);
        *word = to;
    }
}

// --- compaction ---

/// Requires that `to` is free and will not be in the free list any more.
void btree::move_node(std::uint32_t from, std::uint32_t to) {
    const std::uint32_t level = node_at(from).level;
    btree_node& node = checked(from, level);
    log(&node_at(to), sizeof node);
    node_at(to) = node;
    if (level == 0) {
        link(node.previous, to);
        link(to, node.next);
    }
    if (from == state_.root) {
        state_.root = to;
        return;
    }
    std::uint32_t first = to; // a leaf below it, whose keys lead to it
    for (std::uint32_t below = level; below != 0; --below)
        first = children_of(checked(first, below))[0];
    search at = start(key_of(slot_at({first, 0})));
    while (at.level > level && step(at)) {
    }
    if (at.level != level || level + 1 >= state_.levels) throw_damaged(from, "no node leads to it");
    const auto [parent, index] = at.path[level + 1];
    std::uint32_t& child = children_of(node_at(parent))[index];
    if (child != from) throw_damaged(from, "its keys do not lead to it");
    log(&child, sizeof child);
    child = to;
}

std::uint32_t btree::join_leaves(std::uint32_t leaf) {
    for (int looks = 0; looks < moved_at_once && leaf != 0 && state_.levels > 1; ++looks) {
        touch();
        const search at = at_leaf(key_of(slot_at({leaf, 0})));
        if (at.path[0].node != leaf) throw_damaged(leaf, "its keys do not lead to it");
        if (!join(at, at.path[1].index + 1, entries_))
            leaf = normal({leaf, node_at(leaf).count}).leaf;
    }
    return state_.levels > 1 ? leaf : 0;
}

std::deque<slot_number> btree::sort_free_nodes() {
    const std::vector<slot_number> free = state_.nodes.free_slots(file_);
    touch();
    state_.nodes.thread_free_slots(free, state_.nodes.high_water);
    return {free.begin(), free.end()};
}

bool btree::fill_free_nodes(std::deque<slot_number>& free) {
    touch();
    for (int moved = 0; moved < moved_at_once && !free.empty(); ++moved) {
        const std::uint32_t last = state_.nodes.high_water - 1;
        if (free.back() == last) {
            free.pop_back();
        } else {
            move_node(last, free.front());
            free.pop_front();
        }
        --state_.nodes.high_water;
    }
    state_.nodes.free_head = free.empty() ? 0 : free.front();
    if (free.empty()) return false;
    auto* const link = reinterpret_cast<slot_number*>(&node_at(free.back())); // ends the list
    log(link, sizeof *link);
    *link = 0;
    return true;
}

void btree::trim() {
    file_.shrink_to(window_header::page_bytes +
                    std::size_t{state_.nodes.high_water} * sizeof(btree_node));
    nodes_.refresh();
}

} // namespace chainbase
