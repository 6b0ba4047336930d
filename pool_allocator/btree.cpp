#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/btree_images.hpp>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace chainbase {

using detail::cut;
using detail::slice_at;
using detail::slice_bits;
using detail::word_bits;

namespace {

constexpr std::size_t most_prefetched = 8; ///< objects of one search
/// Of keys of any length: their groups are larger, and each object is a miss and its text another.
constexpr std::size_t most_prefetched_whole = 32;

struct range {
    std::uint32_t begin;
    std::uint32_t end;
};

/// The entries with this slice among those in order of their slices.
range equal_slices(const btree_entry* entries, std::uint32_t count, std::uint32_t slice) noexcept {
    std::uint32_t begin = 0;
    for (std::uint32_t length = count; length > 1;) {
        const std::uint32_t half = length / 2;
        begin += half * std::uint32_t{entries[begin + half - 1].slice < slice}; // no branch
        length -= half;
    }
    if (begin < count && entries[begin].slice < slice) ++begin;
    std::uint32_t end = begin;
    while (end < count && entries[end].slice == slice)
        ++end;
    return {begin, end};
}

/// Whether many of the slices do not tell their objects apart.
bool has_many_equal(const btree_entry* entries, std::uint32_t count) noexcept {
    std::uint32_t equal = 0;
    for (std::uint32_t i = 1; i < count; ++i)
        equal += entries[i].slice == entries[i - 1].slice;
    return 8 * equal >= count;
}

} // namespace

btree_wanted::btree_wanted(std::string key, bool last) noexcept
    : whole(std::move(key)), is_last(last) {
    std::array<unsigned char, btree::first_bits / 8> first{};
    if (is_last) first.fill(0xff);
    std::copy_n(whole.begin(), std::min(whole.size(), first.size()), first.begin());
    for (std::size_t i = 0; i < first.size(); ++i)
        bits[i / 8] = bits[i / 8] << 8 | first[i];
}

// --- nodes ---

btree::btree(window& file, const btree_keys& keys, std::size_t bits, write_barrier* barrier)
    : file_(file), state_(state_in(file)), keys_(keys), barrier_(barrier),
      root_block_(&state_, sizeof state_), nodes_(file, state_.nodes),
      is_any_length_(bits == any_length), bits_(is_any_length_ ? first_bits : bits),
      words_((bits_ + word_bits - 1) / word_bits), entries_(btree_node::entries_of(words_)),
      separators_(btree_node::separators_of(words_, is_any_length_)) {
    if (state_.bits != bits)
        throw_damaged(0, "of keys of " + std::to_string(state_.bits) + " bits, not of " +
                             std::to_string(bits));
    nodes_.refresh();
    if (barrier_) barrier_->expect_root();
}

void btree::initialise(window& file, std::size_t bits) noexcept {
    write_barrier::active().first_use(file.root(), sizeof(btree_state));
    state_in(file) = {{0, 1, 1}, static_cast<std::uint32_t>(bits), 0, 0, 0, 0, 0};
}

void btree::throw_damaged(std::uint32_t node, const std::string& what) const {
    throw damaged_error(file_.file() + ": node " + std::to_string(node) + ": " + what +
                        "; run chainbase-inspect check");
}

btree_node& btree::checked(std::uint32_t number, std::uint32_t level) const {
    if (number == 0 || number >= state_.nodes.high_water) [[unlikely]]
        throw_damaged(number, "led to, of " + std::to_string(state_.nodes.high_water));
    btree_node& node = node_at(number);
    const bool is_good =
        node.level == level &&
        (level != 0 ? node.count <= separators_
                    : node.count != 0 && std::uint32_t{node.begin} + node.count <= entries_ &&
                          node.shared <= bits_);
    if (!is_good) [[unlikely]]
        throw_damaged(number, "its first words are none of a node of level " +
                                  std::to_string(level) + " in use");
    return node;
}

int btree::order(const btree_key& a, const btree_key& b) const noexcept {
    for (std::size_t word = 0; word < words_; ++word)
        if (a[word] != b[word]) return a[word] < b[word] ? -1 : 1;
    return 0;
}

std::size_t btree::common_bits(const btree_key& a, const btree_key& b) const noexcept {
    for (std::size_t word = 0; word < words_; ++word)
        if (a[word] != b[word])
            return word * word_bits + static_cast<std::size_t>(std::countl_zero(a[word] ^ b[word]));
    return bits_;
}

btree::leaf_image btree::image_of(btree_node& leaf) const {
    leaf_image image;
    std::copy_n(leaf.rest.begin(), words_, image.prefix.begin());
    image.shared = leaf.shared;
    image.count = leaf.count;
    std::copy_n(entries_of(leaf) + leaf.begin, leaf.count, image.entries.begin());
    return image;
}

btree::inner_image btree::inner_image_of(btree_node& inner) const {
    inner_image image;
    image.level = inner.level;
    image.count = inner.count;
    for (std::size_t word = 0; word < words_; ++word)
        for (std::uint32_t i = 0; i < inner.count; ++i)
            image.separators[i].bits[word] = column_of(inner, word)[i];
    for (std::uint32_t i = 0; is_any_length_ && i < inner.count; ++i)
        image.separators[i].tie = ties_of(inner)[i];
    std::copy_n(children_of(inner), inner.count + 1, image.children.begin());
    return image;
}

/// The entries stand in the middle, where there is room on both sides.
void btree::write(btree_node& to, const leaf_image& from) const noexcept {
    to.count = static_cast<std::uint16_t>(from.count);
    to.begin = static_cast<std::uint16_t>((entries_ - from.count) / 2);
    to.shared = static_cast<std::uint16_t>(from.shared);
    to.level = 0;
    to.reserved = 0;
    std::copy_n(from.prefix.begin(), words_, to.rest.begin());
    std::copy_n(from.entries.begin(), from.count, entries_of(to) + to.begin);
}

void btree::write(btree_node& to, const inner_image& from) const noexcept {
    to.count = static_cast<std::uint16_t>(from.count);
    to.begin = to.shared = 0;
    to.level = static_cast<std::uint8_t>(from.level);
    to.reserved = 0;
    to.previous = to.next = 0;
    for (std::size_t word = 0; word < words_; ++word)
        for (std::uint32_t i = 0; i < from.count; ++i)
            to.rest[word * separators_ + i] = from.separators[i].bits[word];
    for (std::uint32_t i = 0; is_any_length_ && i < from.count; ++i)
        ties_of(to)[i] = from.separators[i].tie;
    std::copy_n(from.children.begin(), from.count + 1, children_of(to));
}

/// Takes the bits that are not shared any more into the slices: reads no object.
void btree::share_fewer(leaf_image& of, std::size_t bits) const {
    const std::size_t fewer = of.shared - bits;
    const std::uint32_t from_prefix = slice_at(of.prefix, bits);
    for (std::uint32_t i = 0; i < of.count; ++i)
        of.entries[i].slice = from_prefix | (fewer < slice_bits ? of.entries[i].slice >> fewer : 0);
    of.prefix = cut(of.prefix, bits);
    of.shared = bits;
}

/// Makes slices of what the keys do not share, if those of now do not tell them apart.
void btree::share_more(leaf_image& of) const {
    if (!has_many_equal(of.entries.data(), of.count)) return;
    for (std::uint32_t i = 0; i < of.count; ++i)
        keys_.prefetch(of.entries[i].slot);
    const btree_key first = keys_.read(of.entries[0].slot);
    const std::size_t bits = common_bits(first, keys_.read(of.entries[of.count - 1].slot));
    if (bits <= of.shared) return;
    of.shared = bits;
    of.prefix = cut(first, bits);
    for (std::uint32_t i = 0; i < of.count; ++i)
        of.entries[i].slice = slice_at(keys_.read(of.entries[i].slot), bits);
}

// --- searching ---

btree_wanted btree::key_of(slot_number slot) const {
    if (is_any_length_) return btree_wanted(keys_.read_whole(slot));
    return keys_.read(slot);
}

int btree::order(const btree_key& bits, slot_number slot, const search& of) const {
    const int first = order(bits, of.key.bits);
    if (first != 0 || !is_any_length_ || slot == of.own) return first;
    const std::string whole = keys_.read_whole(slot);
    if (of.key.is_last && whole.starts_with(of.key.whole)) return -1;
    return whole.compare(of.key.whole);
}

std::uint32_t btree::child_index(btree_node& inner, const search& of) const {
    const std::uint64_t* first = column_of(inner, 0);
    const btree_key& key = of.key.bits;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    for (std::uint32_t i = 0; i < inner.count; ++i) {
        begin += first[i] < key[0];
        end += first[i] <= key[0];
    }
    const auto is_behind = [&](std::uint32_t separator) {
        for (std::size_t word = 1; word < words_; ++word) {
            const std::uint64_t of_separator = column_of(inner, word)[separator];
            if (of_separator != key[word]) return of_separator > key[word];
        }
        const slot_number tie = is_any_length_ ? ties_of(inner)[separator] : 0;
        return tie != 0 && order(key, tie, of) > 0;
    };
    while (begin < end) {
        const std::uint32_t middle = (begin + end) / 2;
        if (is_behind(middle))
            end = middle;
        else
            begin = middle + 1;
    }
    return begin;
}

/// Compares the bits of a key that all keys of a leaf share with these.
int btree::order_of_prefix(const btree_key& key, const btree_node& leaf) const noexcept {
    const std::size_t whole = leaf.shared / word_bits;
    for (std::size_t word = 0; word < whole; ++word)
        if (key[word] != leaf.rest[word]) return key[word] < leaf.rest[word] ? -1 : 1;
    if (leaf.shared % word_bits == 0) return 0;
    const std::uint64_t first = key[whole] & ~std::uint64_t{0}
                                                 << (word_bits - leaf.shared % word_bits);
    return first < leaf.rest[whole] ? -1 : first > leaf.rest[whole];
}

btree::search btree::start(btree_wanted key, slot_number own) const {
    if (state_.levels > max_levels || (state_.levels == 0) != (state_.root == 0)) [[unlikely]]
        throw_damaged(state_.root, "the root, of " + std::to_string(state_.levels) + " levels");
    search of;
    of.key = std::move(key);
    of.own = own;
    of.next = state_.root;
    of.level = state_.levels == 0 ? 0 : state_.levels - 1;
    return of;
}

bool btree::step(search& of) const {
    if (of.next == 0) return false;
    btree_node& node = checked(of.next, of.level);
    if (of.level != 0) {
        const std::uint32_t index = child_index(node, of);
        of.path[of.level--] = {of.next, index};
        of.next = children_of(node)[index];
        prefetch_node(of.next);
        if (of.next == 0) [[unlikely]]
            throw_damaged(of.path[of.level + 1].node, "a child is missing");
        return true;
    }
    range equal{};
    const btree_entry* entries = entries_of(node) + node.begin;
    const int shared = order_of_prefix(of.key.bits, node);
    if (shared == 0)
        equal = equal_slices(entries, node.count, slice_at(of.key.bits, node.shared));
    else if (shared > 0)
        equal = {node.count, node.count};
    of.path[0] = {of.next, equal.begin};
    of.behind = equal.end;
    of.next = 0;
    const auto wanted = std::min<std::size_t>(
        equal.end - equal.begin, is_any_length_ ? most_prefetched_whole : most_prefetched);
    for (std::size_t i = 0; i < wanted; ++i)
        keys_.prefetch(entries[equal.begin + i].slot);
    return false;
}

void btree::finish(search& of) const {
    auto& [number, index] = of.path[0];
    if (index == of.behind) return;
    btree_node& leaf = node_at(number);
    const btree_entry* entries = entries_of(leaf) + leaf.begin;
    if (!is_any_length_ && leaf.shared + slice_bits >= bits_) {
        of.found = entries[index].slot;
        return;
    }
    if (is_any_length_)
        for (std::uint32_t i = index; i < of.behind && i < index + most_prefetched_whole; ++i)
            keys_.prefetch_whole(entries[i].slot);
    for (std::uint32_t end = of.behind; index < end;) {
        const std::uint32_t middle = (index + end) / 2;
        const slot_number slot = entries[middle].slot;
        const int where = order(keys_.read(slot), slot, of);
        if (where == 0) {
            index = middle;
            of.found = slot;
            return;
        }
        if (where < 0)
            index = middle + 1;
        else
            end = middle;
    }
}

btree::search btree::at_leaf(const btree_wanted& key, slot_number own) const {
    search of = start(key, own);
    while (step(of)) {
    }
    return of;
}

btree::search btree::finished(const btree_wanted& key) const {
    search of = at_leaf(key);
    finish(of);
    return of;
}

/// Takes a search at the leaf to the entry of an object.
void btree::find_entry(search& at, slot_number slot) const {
    auto& [number, index] = at.path[0];
    if (number != 0) {
        btree_node& leaf = node_at(number);
        const btree_entry* entries = entries_of(leaf) + leaf.begin;
        for (; index < at.behind; ++index)
            if (entries[index].slot == slot) return;
    }
    throw_damaged(number,
                  "the search for slot " + std::to_string(slot) + " ends here without finding it");
}

btree::place btree::normal(place at) const {
    if (at.leaf == 0 || at.index < checked(at.leaf, 0).count) return at;
    const std::uint32_t next = node_at(at.leaf).next;
    require_neighbours(at.leaf, next);
    return {next, 0};
}

btree::place btree::bound_of(search& at_leaf) const {
    finish(at_leaf);
    return normal({at_leaf.path[0].node, at_leaf.path[0].index});
}

btree::place btree::lower_bound(const btree_wanted& key) const {
    search at = at_leaf(key);
    return bound_of(at);
}

btree::place btree::upper_bound(const btree_wanted& key) const {
    const search at = finished(key);
    return normal({at.path[0].node, at.path[0].index + (at.found != 0 ? 1 : 0)});
}

btree::place btree::place_of(const btree_wanted& key, slot_number slot) const {
    search at = at_leaf(key, slot);
    find_entry(at, slot);
    return {at.path[0].node, at.path[0].index};
}

slot_number btree::slot_at(place at) const {
    btree_node& leaf = checked(at.leaf, 0);
    if (at.index >= leaf.count) [[unlikely]]
        throw_damaged(at.leaf, "it has no entry " + std::to_string(at.index));
    return entries_of(leaf)[leaf.begin + at.index].slot;
}

btree::place btree::next(place at) const {
    const place to = normal({at.leaf, at.index + 1});
    if (to.leaf != at.leaf) prefetch_node(node_at(to.leaf).next);
    return to;
}

bool btree::holds(place at, slot_number slot) const noexcept {
    return at.leaf != 0 && at.leaf < state_.nodes.high_water && node_at(at.leaf).level == 0 &&
           slot != 0 && at.index < node_at(at.leaf).count && ahead_of(at, 0) == slot;
}

slot_number btree::ahead_of(place at, std::uint32_t entries) const noexcept {
    const auto slot_in = [&](std::uint32_t number, std::uint32_t index) -> slot_number {
        btree_node& leaf = node_at(number);
        const bool is_there =
            number < state_.nodes.high_water && index < leaf.count && leaf.begin + index < entries_;
        return is_there ? entries_of(leaf)[leaf.begin + index].slot : 0;
    };
    const btree_node& leaf = node_at(at.leaf);
    const std::uint32_t index = at.index + entries;
    return index < leaf.count ? slot_in(at.leaf, index) : slot_in(leaf.next, index - leaf.count);
}

btree::place btree::previous(place at) const {
    if (at.index != 0) return {at.leaf, at.index - 1};
    const std::uint32_t leaf = at.leaf == 0 ? state_.last : checked(at.leaf, 0).previous;
    if (leaf == 0) return {};
    require_neighbours(leaf, at.leaf);
    return {leaf, node_at(leaf).count - 1U};
}

} // namespace chainbase
