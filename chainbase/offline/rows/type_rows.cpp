#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/offline/rows/type_rows.hpp>
#include <chainbase/segment/index_base.hpp>
#include <pool_allocator/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace chainbase::rows {

namespace {

constexpr std::size_t first_slot = window_header::page_bytes;

chainbase::detail::root_prefix root_of(const window& objects) {
    if (readable(objects) < window_header::page_bytes)
        throw damaged_error(objects.file() + ": truncated to less than a page");
    return copy_at<chainbase::detail::root_prefix>(objects.root());
}

} // namespace

slot_reader::slot_reader(const type_schema& schema, const window& objects, const window& ids)
    : schema_(schema), objects_(objects), ids_(ids) {
    const auto root = root_of(objects);
    end_ = (readable(objects) - first_slot) / schema.node_bytes;
    next_id_ = root.next_id;
    live_ = root.pool.live == 0 ? 0 : root.pool.live - 1; // slot 0 counts, too
}

slot_number slot_reader::slot_of(std::uint32_t id) const {
    if (id >= next_id_) return 0;
    const std::size_t at = window_header::page_bytes + std::size_t{id} * sizeof(slot_number);
    if (at + sizeof(slot_number) > readable(ids_))
        throw damaged_error(
            fmt::format("{}: truncated, it has no entry for object {}", ids_.file(), id));
    return copy_at<slot_number>(ids_.base() + at);
}

const std::byte* slot_reader::node(slot_number slot) const {
    if (slot >= end_)
        throw damaged_error(fmt::format("{}: a reference leads to slot {}, but the file has {}; "
                                        "run chainbase-inspect check",
                                        objects_.file(), slot, end_));
    return objects_.base() + first_slot + std::size_t{slot} * schema_.node_bytes;
}

std::uint32_t slot_reader::id(slot_number slot) const {
    return copy_at<std::uint32_t>(value(slot));
}

void slot_reader::throw_damaged(slot_number slot, std::size_t at, const char* what) const {
    throw damaged_error(
        fmt::format("{}: offset {}: slot {}: {}; run chainbase-inspect check", objects_.file(),
                    first_slot + std::size_t{slot} * schema_.node_bytes + at, slot, what));
}

table_reader::table_reader(const slot_reader& objects, const window& file,
                           const type_layout::table& of)
    : objects_(objects), file_(file), of_(of),
      words_(copy_at<hash_state>(objects.objects().root() + of.words_at)) {
    if (!hash_table::fits(words_, readable(file)))
        throw damaged_error(fmt::format("{}: a table of 2^{} entries does not fit a file of {} "
                                        "bytes; run chainbase-inspect check",
                                        file.file(), words_.log2_capacity, readable(file)));
    if (!hash_table::key_words(file).is_whole())
        throw damaged_error(fmt::format("{}: offset {}: the seed of its hashes is altered; run "
                                        "chainbase-inspect check",
                                        file.file(), sizeof(window_header)));
}

slot_number table_reader::head(const probe& key) const {
    const std::uint32_t hash = key.hash(seed());
    const std::uint32_t mask = (std::uint32_t{1} << words_.log2_capacity) - 1;
    const std::byte* const entries = file_.base() + hash_table::area_offset(words_.log2_capacity);
    std::uint32_t at = hash_table::home(hash, words_.log2_capacity);
    for (std::uint32_t step = 0; step < hash_table::longest_run; ++step, at = (at + 1) & mask) {
        const auto here = copy_at<hash_entry>(entries + std::size_t{at} * hash_table::entry_bytes);
        if (here.slot == 0) return 0;
        if (here.hash == hash && key.place_of(objects_.value(here.slot)) == 0) return here.slot;
    }
    throw damaged_error(fmt::format("{}: offset {}: a search does not end; run chainbase-inspect "
                                    "check",
                                    file_.file(),
                                    entries - file_.base() + std::size_t{at} * sizeof(hash_entry)));
}

hash_seed table_reader::seed() const noexcept {
    return hash_table::key_words(file_).seed;
}

std::vector<slot_number> table_reader::ring_of(slot_number head) const {
    std::vector<slot_number> found;
    for (slot_number slot = head; slot != 0;) {
        if (found.size() > objects_.live())
            objects_.throw_damaged(slot, *of_.ring_at, "the ring of its key does not close");
        found.push_back(slot);
        slot = of_.ring_at ? copy_at<slot_number>(objects_.node(slot) + *of_.ring_at) : head;
        if (slot == head) break;
    }
    return found;
}

std::vector<slot_number> table_reader::find(const probe& key) const {
    return ring_of(head(key));
}

void table_reader::each(const std::function<void(const entry&)>& visit) const {
    const std::byte* const entries = file_.base() + hash_table::area_offset(words_.log2_capacity);
    std::uint64_t visited = 0;
    for (std::uint64_t at = 0; at < std::uint64_t{1} << words_.log2_capacity; ++at) {
        const auto here = copy_at<hash_entry>(entries + at * hash_table::entry_bytes);
        bool follows = false;
        for (const slot_number slot : ring_of(here.slot)) {
            if (++visited > objects_.live())
                objects_.throw_damaged(slot, 0, "a table has more objects than the type has");
            visit({slot, here.hash, follows});
            follows = true;
        }
    }
}

namespace {

using links::max_height;

/// The links of an ordered or ranked key, as laid out by compact_links.hpp, word by word.
class linked_tree final : public tree_reader {
public:
    linked_tree(const slot_reader& objects, const type_layout::tree& of) noexcept
        : objects_(objects), links_at_(of.links_at) {}

    [[nodiscard]] slot_number first() const override { return target(0, link::left); }
    [[nodiscard]] slot_number last() const override { return target(0, link::right); }
    [[nodiscard]] slot_number next(slot_number slot) const override {
        return neighbour(slot, link::right, link::left);
    }
    [[nodiscard]] slot_number previous(slot_number slot) const override {
        return neighbour(slot, link::left, link::right);
    }
    [[nodiscard]] slot_number lower_bound(const probe& key) const override {
        return partition_point([&](const std::byte* object) { return key.place_of(object) < 0; });
    }
    [[nodiscard]] slot_number upper_bound(const probe& key) const override {
        return partition_point([&](const std::byte* object) { return key.place_of(object) <= 0; });
    }

private:
    using link = links::word;

    [[nodiscard]] slot_number target(slot_number slot, link which) const;
    [[nodiscard]] slot_number outermost(slot_number slot, link side) const;
    [[nodiscard]] slot_number neighbour(slot_number slot, link side, link other) const;
    template <typename IsBefore>
    [[nodiscard]] slot_number partition_point(IsBefore&& is_before) const;

    const slot_reader& objects_;
    std::size_t links_at_;
};

/// 0 also for the header, to which the root's parent link and those of an empty tree lead.
slot_number linked_tree::target(slot_number slot, link which) const {
    const std::size_t at = links_at_ + static_cast<std::size_t>(which);
    const std::int32_t distance =
        links::distance_in(copy_at<std::uint32_t>(objects_.node(slot) + at), which);
    if (distance == links::no_node) return 0;
    const std::int64_t to = std::int64_t{slot} + distance;
    if (to < 0 || to > UINT32_MAX) objects_.throw_damaged(slot, at, "its link leads nowhere");
    return static_cast<slot_number>(to);
}

slot_number linked_tree::outermost(slot_number slot, link side) const {
    for (int height = 0; height < max_height; ++height) {
        const slot_number below = target(slot, side);
        if (below == 0) return slot;
        slot = below;
    }
    objects_.throw_damaged(slot, links_at_, "its links form a cycle");
}

slot_number linked_tree::neighbour(slot_number slot, link side, link other) const {
    if (const slot_number below = target(slot, side); below != 0) return outermost(below, other);
    for (int height = 0; height < max_height; ++height) {
        const slot_number above = target(slot, link::parent);
        if (above == 0 || target(above, side) != slot) return above;
        slot = above;
    }
    objects_.throw_damaged(slot, links_at_, "its links form a cycle");
}

/// The first slot of which `is_before` does not hold, and of none after it.
template <typename IsBefore>
slot_number linked_tree::partition_point(IsBefore&& is_before) const {
    slot_number found = 0;
    slot_number slot = target(0, link::parent);
    for (int height = 0; slot != 0; ++height) {
        if (height == max_height) objects_.throw_damaged(slot, links_at_, "its links form a cycle");
        const bool goes_right = is_before(objects_.value(slot));
        if (!goes_right) found = slot;
        slot = target(slot, goes_right ? link::right : link::left);
    }
    return found;
}

/// A btree key. The place of the slot met last makes a walk as fast as in the program.
class flat_tree final : public tree_reader {
public:
    flat_tree(const slot_reader& objects, const window& file, const type_layout::flat_tree& of,
              const buffer_source& buffers)
        : key_(objects.schema(), *of.key, buffers),
          bits_(key_, of.bits, of.is_unique,
                [&objects](slot_number slot) { return objects.value(slot); }),
          length_(of.bits), tree_(const_cast<window&>(file), bits_, of.bits, nullptr) {
        tree_.require_within(readable(file));
    }

    [[nodiscard]] slot_number first() const override { return at(tree_.begin()); }
    [[nodiscard]] slot_number last() const override { return at(tree_.previous({})); }
    [[nodiscard]] slot_number next(slot_number slot) const override {
        return at(tree_.next(place_of(slot)));
    }
    [[nodiscard]] slot_number previous(slot_number slot) const override {
        return at(tree_.previous(place_of(slot)));
    }
    [[nodiscard]] slot_number lower_bound(const probe& key) const override {
        return at(tree_.lower_bound(key.bound(length_, false)));
    }
    [[nodiscard]] slot_number upper_bound(const probe& key) const override {
        return at(tree_.upper_bound(key.bound(length_, true)));
    }

private:
    [[nodiscard]] slot_number at(btree::place place) const {
        last_ = place;
        return place.leaf == 0 ? 0 : tree_.slot_at(place);
    }
    [[nodiscard]] btree::place place_of(slot_number slot) const {
        return tree_.holds(last_, slot) ? last_ : tree_.place_of(bits_.key_of(slot), slot);
    }

    key_reader key_;
    slot_bits bits_;
    std::size_t length_;
    btree tree_;
    mutable btree::place last_;
};

} // namespace

type_rows::type_rows(source from)
    : from_(std::move(from)), layout_(type_layout::of(*from_.schema)),
      slots_(*from_.schema, *from_.objects, *from_.ids) {}

const type_schema::key& type_rows::key_called(std::string_view name) const {
    std::string known;
    for (const type_schema::key& key : schema().keys) {
        if (key.name == name) return key;
        known += (known.empty() ? "" : ", ") + key.name;
    }
    throw usage_error(schema().name + " has no key \"" + std::string(name) + "\"; it has " +
                      (known.empty() ? "none but the id" : "id, " + known));
}

std::unique_ptr<tree_reader> type_rows::tree(const type_schema::key& key) const {
    for (const type_layout::tree& one : layout_.trees)
        if (one.key == &key) return std::make_unique<linked_tree>(slots_, one);
    for (std::size_t number = 0; number < layout_.btrees.size(); ++number)
        if (layout_.btrees[number].key == &key)
            return std::make_unique<flat_tree>(slots_, *from_.btrees.at(number),
                                               layout_.btrees[number], *from_.buffers);
    return nullptr;
}

std::optional<table_reader> type_rows::table(const type_schema::key& key) const {
    for (std::size_t number = 0; number < layout_.tables.size(); ++number)
        if (layout_.tables[number].key == &key)
            return table_reader(slots_, *from_.tables.at(number), layout_.tables[number]);
    return std::nullopt;
}

std::vector<slot_number> type_rows::find(const type_schema::key& key, const probe& wanted) const {
    std::vector<slot_number> found;
    if (const auto ordered = tree(key)) {
        const slot_number end = ordered->upper_bound(wanted);
        for (slot_number slot = ordered->lower_bound(wanted); slot != end && slot != 0;
             slot = ordered->next(slot)) {
            if (found.size() == slots_.live())
                slots_.throw_damaged(slot, 0, "a key has more objects than the type has");
            found.push_back(slot);
        }
        return found;
    }
    const auto hashed = table(key);
    return hashed ? hashed->find(wanted) : found;
}

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
    : key_(key), within_(std::make_shared<const bounds>(std::move(within))) {}

slot_number key_cursor::after(const tree_reader& tree, slot_number slot) const {
    return within_->is_reverse ? tree.previous(slot) : tree.next(slot);
}

slot_number key_cursor::start(const tree_reader& tree) const {
    if (!within_->is_reverse)
        return within_->from ? tree.lower_bound(*within_->from) : tree.first();
    const slot_number end = within_->to ? tree.upper_bound(*within_->to) : 0;
    return end == 0 ? tree.last() : tree.previous(end);
}

/// After the object that came last, if it is where it was; else from its key on, without those
/// that were visited.
slot_number key_cursor::resume(const type_rows& of, const tree_reader& tree) const {
    const slot_number last = of.slots().slot_of(visited_.back());
    if (last != 0 && last_->place_of(of.slots().value(last)) == 0) return after(tree, last);
    slot_number slot = tree.lower_bound(*last_);
    if (within_->is_reverse) {
        const slot_number end = tree.upper_bound(*last_);
        slot = end == 0 ? tree.last() : tree.previous(end);
    }
    const std::unordered_set<std::uint32_t> known(visited_.begin(), visited_.end());
    for (std::size_t passed = 0; slot != 0 && known.contains(of.slots().id(slot)); ++passed) {
        if (passed == known.size()) throw_cycle(of, slot);
        slot = after(tree, slot);
    }
    return slot;
}

void key_cursor::throw_cycle(const type_rows& of, slot_number slot) {
    of.slots().throw_damaged(slot, 0, "a walk by a key reaches it twice");
}

bool key_cursor::is_within(const std::byte* object) const {
    if (within_->is_reverse) return !within_->from || within_->from->place_of(object) >= 0;
    return !within_->to || within_->to->place_of(object) <= 0;
}

bool key_cursor::advance(const type_rows& of, const visitor& visit) {
    const std::unique_ptr<tree_reader> found = of.tree(key_);
    const tree_reader& tree = *found;
    std::vector<slot_number> visited;
    slot_number slot = last_ ? resume(of, tree) : start(tree);
    for (; slot != 0 && is_within(of.slots().value(slot)); slot = after(tree, slot)) {
        if (visited.size() == of.slots().live()) throw_cycle(of, slot);
        visited.push_back(slot);
        if (visit(slot)) continue;
        remember(of, visited);
        return true;
    }
    return false;
}

void key_cursor::remember(const type_rows& of, const std::vector<slot_number>& visited) {
    const std::byte* const object = of.slots().value(visited.back());
    const auto place = last_ ? last_->place_of(object) : std::strong_ordering::greater;
    const bool is_same = place == 0;
    if (last_ && (within_->is_reverse ? place > 0 : place < 0)) throw_cycle(of, visited.back());
    last_ = std::make_shared<const probe>(of.schema(), key_, probe::source{object, of.buffers()},
                                          of.buffers());
    const auto equal = std::find_if(visited.rbegin(), visited.rend(), [&](slot_number slot) {
        return last_->place_of(of.slots().value(slot)) != 0;
    });
    if (!is_same || equal != visited.rend()) visited_.clear();
    std::for_each(equal.base(), visited.end(),
                  [&](slot_number slot) { visited_.push_back(of.slots().id(slot)); });
    if (visited_.size() > of.slots().next_id()) throw_cycle(of, visited.back()); // some are twice
}

} // namespace chainbase::rows
