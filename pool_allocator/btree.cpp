#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/btree.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace chainbase {

namespace {

constexpr std::size_t word_bits = 64;
constexpr std::size_t slice_bits = 32;
constexpr std::uint8_t free_level = 255;
constexpr std::size_t most_prefetched = 8; ///< objects of one search
constexpr int moved_at_once = 256;         ///< bounds the log that one part of a compaction takes

/// The 32 bits of a key from `bit` on.
std::uint32_t slice_at(const btree_key& key, std::size_t bit) noexcept {
    const std::size_t word = bit / word_bits;
    const std::size_t offset = bit % word_bits;
    if (word == key.size()) return 0;
    std::uint64_t bits = key[word] << offset;
    if (offset > word_bits - slice_bits && word + 1 < key.size())
        bits |= key[word + 1] >> (word_bits - offset);
    return static_cast<std::uint32_t>(bits >> (word_bits - slice_bits));
}

/// The first `bits` of a key.
btree_key cut(const btree_key& key, std::size_t bits) noexcept {
    btree_key result{};
    const std::size_t whole = bits / word_bits;
    std::copy_n(key.begin(), whole, result.begin());
    if (bits % word_bits != 0)
        result[whole] = key[whole] & ~std::uint64_t{0} << (word_bits - bits % word_bits);
    return result;
}

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

/// A leaf with room for one entry more than it can have.
struct btree::leaf_image {
    btree_key prefix{};
    std::size_t shared = 0;
    std::uint32_t count = 0;
    std::array<btree_entry, btree_node::entries_of(1) + 1> entries{};

    void insert(std::uint32_t index, btree_entry entry) noexcept {
        std::copy_backward(entries.begin() + index, entries.begin() + count,
                           entries.begin() + count + 1);
        entries[index] = entry;
        ++count;
    }
    void append(const leaf_image& other) noexcept {
        std::copy_n(other.entries.begin(), other.count, entries.begin() + count);
        count += other.count;
    }
    [[nodiscard]] leaf_image part(std::uint32_t begin, std::uint32_t end) const noexcept {
        leaf_image result{prefix, shared, end - begin, {}};
        std::copy(entries.begin() + begin, entries.begin() + end, result.entries.begin());
        return result;
    }
};

/// An inner node, likewise.
struct btree::inner_image {
    std::uint32_t level = 0;
    std::uint32_t count = 0;
    std::array<btree_key, btree_node::separators_of(1) + 1> separators{};
    std::array<std::uint32_t, btree_node::separators_of(1) + 2> children{};

    /// A child that comes before or behind the one at `index`.
    void insert(std::uint32_t index, const btree_key& separator, std::uint32_t child,
                bool is_left) noexcept {
        const std::uint32_t at = is_left ? index : index + 1;
        std::copy_backward(separators.begin() + index, separators.begin() + count,
                           separators.begin() + count + 1);
        std::copy_backward(children.begin() + at, children.begin() + count + 1,
                           children.begin() + count + 2);
        separators[index] = separator;
        children[at] = child;
        ++count;
    }
    /// Of two or more.
    void erase(std::uint32_t index) noexcept {
        const std::uint32_t separator = index == 0 ? 0 : index - 1;
        std::copy(separators.begin() + separator + 1, separators.begin() + count,
                  separators.begin() + separator);
        std::copy(children.begin() + index + 1, children.begin() + count + 1,
                  children.begin() + index);
        --count;
    }
    void append(const btree_key& separator, const inner_image& other) noexcept {
        separators[count] = separator;
        std::copy_n(other.separators.begin(), other.count, separators.begin() + count + 1);
        std::copy_n(other.children.begin(), other.count + 1, children.begin() + count + 1);
        count += other.count + 1;
    }
    /// The separators from `begin` to before `end`, and the children around them.
    [[nodiscard]] inner_image part(std::uint32_t begin, std::uint32_t end) const noexcept {
        inner_image result{level, end - begin, {}, {}};
        std::copy(separators.begin() + begin, separators.begin() + end, result.separators.begin());
        std::copy(children.begin() + begin, children.begin() + end + 1, result.children.begin());
        return result;
    }
};

// --- nodes ---

btree::btree(window& file, const btree_keys& keys, std::size_t bits, write_barrier* barrier)
    : file_(file), state_(state_in(file)), keys_(keys), barrier_(barrier),
      root_block_(&state_, sizeof state_), nodes_(file, state_.nodes),
      words_((bits + word_bits - 1) / word_bits), entries_(btree_node::entries_of(words_)),
      separators_(btree_node::separators_of(words_)) {
    if (state_.bits != bits)
        throw_damaged(0, "of keys of " + std::to_string(state_.bits) + " bits, not of " +
                             std::to_string(bits));
    nodes_.refresh();
    if (barrier_) barrier_->expect_root();
}

void btree::initialise(window& file, std::size_t bits) noexcept {
    write_barrier::active().written(file.root(), sizeof(btree_state));
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
                          node.shared <= state_.bits);
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
    return state_.bits;
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
            image.separators[i][word] = column_of(inner, word)[i];
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
            to.rest[word * separators_ + i] = from.separators[i][word];
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

std::uint32_t btree::child_index(const btree_node& inner, const btree_key& key) const noexcept {
    const std::uint64_t* first = column_of(inner, 0);
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
        return false;
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

btree::search btree::start(const btree_key& key) const {
    if (state_.levels > max_levels || (state_.levels == 0) != (state_.root == 0)) [[unlikely]]
        throw_damaged(state_.root, "the root, of " + std::to_string(state_.levels) + " levels");
    search of;
    of.key = key;
    of.next = state_.root;
    of.level = state_.levels == 0 ? 0 : state_.levels - 1;
    return of;
}

bool btree::step(search& of) const {
    if (of.next == 0) return false;
    btree_node& node = checked(of.next, of.level);
    if (of.level != 0) {
        const std::uint32_t index = child_index(node, of.key);
        of.path[of.level--] = {of.next, index};
        of.next = children_of(node)[index];
        prefetch_node(of.next);
        if (of.next == 0) [[unlikely]]
            throw_damaged(of.path[of.level + 1].node, "a child is missing");
        return true;
    }
    range equal{};
    const btree_entry* entries = entries_of(node) + node.begin;
    const int shared = order_of_prefix(of.key, node);
    if (shared == 0)
        equal = equal_slices(entries, node.count, slice_at(of.key, node.shared));
    else if (shared > 0)
        equal = {node.count, node.count};
    of.path[0] = {of.next, equal.begin};
    of.behind = equal.end;
    of.next = 0;
    const auto wanted = std::min<std::size_t>(equal.end - equal.begin, most_prefetched);
    for (std::size_t i = 0; i < wanted; ++i)
        keys_.prefetch(entries[equal.begin + i].slot);
    return false;
}

void btree::finish(search& of) const {
    auto& [number, index] = of.path[0];
    if (index == of.behind) return;
    btree_node& leaf = node_at(number);
    const btree_entry* entries = entries_of(leaf) + leaf.begin;
    if (leaf.shared + slice_bits >= state_.bits) {
        of.found = entries[index].slot;
        return;
    }
    for (std::uint32_t end = of.behind; index < end;) {
        const std::uint32_t middle = (index + end) / 2;
        const int where = order(keys_.read(entries[middle].slot), of.key);
        if (where == 0) {
            index = middle;
            of.found = entries[middle].slot;
            return;
        }
        if (where < 0)
            index = middle + 1;
        else
            end = middle;
    }
}

btree::search btree::at_leaf(const btree_key& key) const {
    search of = start(key);
    while (step(of)) {
    }
    return of;
}

btree::search btree::finished(const btree_key& key) const {
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

btree::place btree::lower_bound(const btree_key& key) const {
    search at = at_leaf(key);
    return bound_of(at);
}

btree::place btree::upper_bound(const btree_key& key) const {
    const search at = finished(key);
    return normal({at.path[0].node, at.path[0].index + (at.found != 0 ? 1 : 0)});
}

btree::place btree::place_of(const btree_key& key, slot_number slot) const {
    search at = at_leaf(key);
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
        write(node_at(node), {at.key, state_.bits, 1, {btree_entry{0, slot}}});
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
    const std::size_t common = common_bits(cut(at.key, leaf.shared), image.prefix);
    if (common < leaf.shared) {
        image = image_of(leaf);
        share_fewer(image, common);
        log(&leaf, sizeof leaf);
        write(leaf, image);
    }
    insert_entry(leaf, at.path[0].index, {slice_at(at.key, leaf.shared), slot});
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
    const std::size_t common = common_bits(cut(at.key, all.shared), all.prefix);
    if (common < all.shared) share_fewer(all, common);
    all.insert(index, {slice_at(at.key, all.shared), slot});
    std::uint32_t middle = all.count / 2;
    if (newest + 1 == index)
        middle = std::min(index + 1, all.count - 1);
    else if (newest == index)
        middle = std::max(index, 1U);
    const bool is_left = index == 0 && middle == 1; // the new entry alone, before the leaf
    const bool is_alone = is_left || (index + 1 == all.count && middle == index);
    const btree_key separator =
        index == middle ? at.key : keys_.read(all.entries[is_left ? 1 : middle].slot);
    const std::uint32_t fresh = take();
    btree_node& other = node_at(fresh);
    if (is_left)
        require_neighbours(leaf.previous, number);
    else
        require_neighbours(number, leaf.next);
    other.previous = is_left ? leaf.previous : number;
    other.next = is_left ? number : leaf.next;
    if (is_alone) {
        write(other, {at.key, state_.bits, 1, {btree_entry{0, slot}}});
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
    add_child(at, 1, separator, fresh, is_left);
}

/// Enters a node that was split off from the one at the search's turn in the level below.
void btree::add_child(const search& at, std::uint32_t level, const btree_key& separator,
                      std::uint32_t child, bool is_left) {
    if (level == state_.levels) {
        if (level == max_levels) throw_damaged(state_.root, "the tree is too high");
        inner_image top;
        top.level = level;
        top.children[0] = state_.root;
        top.insert(0, separator, child, is_left);
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
    all.insert(index, separator, child, is_left);
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
    erase_entry(leaf, index);
    if (leaf.count == 0)
        remove_leaf(at, state_.levels > 1 ? at.path[1].index : 0, number);
    else if (leaf.count < entries_ / 3 && state_.levels > 1)
        join(at, std::max(at.path[1].index, 1U), entries_ * 3 / 4);
}

/// Both searches wait for memory together. The second one is made again if its leaf may be another
/// by then.
slot_number btree::move(const btree_key& from, const btree_key& to, slot_number slot) {
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

void btree::replace(const btree_key& key, slot_number slot, slot_number to) {
    search at = at_leaf(key);
    find_entry(at, slot);
    btree_node& leaf = node_at(at.path[0].node);
    slot_number& word = entries_of(leaf)[leaf.begin + at.path[0].index].slot;
    log(&word, sizeof word);
    word = to;
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
    search at = start(keys_.read(slot_at({first, 0})));
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
        const search at = at_leaf(keys_.read(slot_at({leaf, 0})));
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

void btree::require_within(std::size_t bytes) const {
    const std::size_t end =
        window_header::page_bytes + std::size_t{state_.nodes.high_water} * sizeof(btree_node);
    if (state_.nodes.high_water > 1 && end > bytes)
        throw_damaged(state_.nodes.high_water - 1, "last of those in use, beyond the file's " +
                                                       std::to_string(bytes) + " bytes");
}

usage btree::measure(const window& file) noexcept {
    usage used;
    used.total = file.bytes();
    // and the slot that stays unused, once it is in the file
    used.header =
        std::min<std::uint64_t>(used.total, window_header::page_bytes + sizeof(btree_node));
    used.links = std::uint64_t{state_in(file).nodes.live - 1} * sizeof(btree_node);
    used.slack = used.total - used.header - used.links;
    used.find_holes(file);
    return used;
}

// --- check ---

/// Walks a tree that may hold anything: every node once.
class btree::checker {
public:
    checker(const btree& tree, const finding& found) : tree_(tree), found_(found) {}

    void run() {
        const btree_state& words = tree_.state_;
        const bool is_empty = words.root == 0;
        if (words.levels > max_levels || is_empty != (words.levels == 0))
            return found_(0, std::to_string(words.levels) + " levels, and the root is node " +
                                 std::to_string(words.root));
        seen_.resize(words.nodes.high_water);
        if (!is_empty) walk(words.root, words.levels - 1, nullptr, nullptr);
        require(words.last, last_leaf_, 0, "the last leaf");
        if (last_leaf_ != 0)
            require(tree_.node_at(last_leaf_).next, 0, last_leaf_, "its neighbour");
        if (is_empty) require(words.first, 0, 0, "the first leaf");
        require(words.size, entries_, 0, "entries");
        require(words.nodes.live, reached_ + 1, 0, "nodes in use and one more");
        try {
            for (const slot_number free : words.nodes.free_slots(tree_.file_))
                if (seen_[free] || tree_.node_at(free).level != free_level)
                    found_(free, "is free and in use");
        } catch (const damaged_error& e) {
            found_(0, e.what());
        }
    }

private:
    void require(std::uint32_t is, std::uint32_t should, std::uint32_t node, const char* what) {
        if (is != should)
            found_(node, std::string(what) + " is " + std::to_string(is) + " and should be " +
                             std::to_string(should));
    }

    void walk(std::uint32_t number, std::uint32_t level, const btree_key* low,
              const btree_key* high) {
        try {
            btree_node& node = tree_.checked(number, level);
            if (seen_[number]) return found_(number, "two nodes lead to it");
            seen_[number] = true;
            ++reached_;
            if (level == 0) return read_leaf(number, node, low, high);
            const inner_image image = tree_.inner_image_of(node);
            for (std::uint32_t i = 0; i < image.count; ++i)
                require_between(number, image.separators[i],
                                i == 0 ? low : &image.separators[i - 1], high,
                                "separator " + std::to_string(i));
            for (std::uint32_t i = 0; i <= image.count; ++i)
                walk(image.children[i], level - 1, i == 0 ? low : &image.separators[i - 1],
                     i == image.count ? high : &image.separators[i]);
        } catch (const damaged_error& e) {
            found_(number, e.what());
        }
    }

    void require_between(std::uint32_t node, const btree_key& key, const btree_key* low,
                         const btree_key* high, const std::string& what) {
        if ((low && tree_.order(key, *low) < 0) || (high && tree_.order(key, *high) >= 0))
            found_(node, what + " is not between the separators around it");
    }

    void read_leaf(std::uint32_t number, btree_node& node, const btree_key* low,
                   const btree_key* high) {
        require(node.previous, last_leaf_, number, "its neighbour");
        if (last_leaf_ == 0)
            require(tree_.state_.first, number, 0, "the first leaf");
        else
            require(tree_.node_at(last_leaf_).next, number, last_leaf_, "its neighbour");
        last_leaf_ = number;
        entries_ += node.count;
        const leaf_image image = tree_.image_of(node);
        std::optional<btree_key> before;
        for (std::uint32_t i = 0; i < image.count; ++i) {
            const std::string what = "entry " + std::to_string(i);
            const std::optional<btree_key> read = key_of(number, what, image.entries[i].slot);
            if (!read) continue;
            const btree_key& key = *read;
            require_between(number, key, low, high, what);
            if (before && tree_.order(*before, key) >= 0)
                found_(number, what + " is not behind the one before it");
            if (cut(key, image.shared) != image.prefix ||
                slice_at(key, image.shared) != image.entries[i].slice)
                found_(number, what + " has other bits than the key of its object");
            before = key;
        }
    }

    std::optional<btree_key> key_of(std::uint32_t node, const std::string& what, slot_number slot) {
        try {
            return tree_.keys_.read(slot);
        } catch (const damaged_error& e) {
            found_(node, what + ": " + e.what());
            return std::nullopt;
        }
    }

    const btree& tree_;
    const finding& found_;
    std::vector<bool> seen_;
    std::uint32_t reached_ = 0;
    std::uint32_t entries_ = 0;
    std::uint32_t last_leaf_ = 0;
};

void btree::check(const finding& found) const {
    checker(*this, found).run();
}

} // namespace chainbase
