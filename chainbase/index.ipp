#pragma once

#include <chainbase/index.hpp>
#include <chainbase/object/schema_of.hpp>
#include <pool_allocator/size_classes.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace chainbase {

// --- which keys are where ---

template <typename T>
template <typename Visitor>
void object_index<T>::each_table(Visitor&& visit) {
    boost::mp11::mp_for_each<boost::mp11::mp_iota_c<T::keys::count>>([&](auto k) {
        if constexpr (is_hashed(key_at<decltype(k)::value>::kind)) visit(k);
    });
}

template <typename T>
template <typename Visitor>
void object_index<T>::each_tree(Visitor&& visit) {
    boost::mp11::mp_for_each<boost::mp11::mp_iota_c<T::keys::count>>([&](auto k) {
        if constexpr (detail::is_in_tree<key_at<decltype(k)::value>>::value) visit(k);
    });
}

template <typename T>
template <typename Visitor>
void object_index<T>::each_btree(Visitor&& visit) {
    boost::mp11::mp_for_each<boost::mp11::mp_iota_c<T::keys::count>>([&](auto k) {
        if constexpr (is_btree(key_at<decltype(k)::value>::kind)) visit(k);
    });
}

template <typename T>
template <std::size_t K>
constexpr std::size_t object_index<T>::table_number() {
    using before = boost::mp11::mp_take_c<typename T::keys, K>;
    return boost::mp11::mp_count_if<before, detail::is_in_table>::value;
}

template <typename T>
template <std::size_t K>
constexpr std::size_t object_index<T>::btree_number() {
    using before = boost::mp11::mp_take_c<typename T::keys, K>;
    return boost::mp11::mp_count_if<before, detail::is_in_btree>::value;
}

template <typename T>
template <std::size_t K>
constexpr std::size_t object_index<T>::list_number() {
    using before = boost::mp11::mp_take_c<typename T::keys, K>;
    return boost::mp11::mp_count_if<before, detail::is_in_list>::value;
}

// --- attaching ---

template <typename T>
object_index<T>::object_index(segment* in, undo_log* log, const type_windows& type)
    : index_base(log, type), nodes_(type.objects->base() + window_header::page_bytes),
      root_(reinterpret_cast<root_words*>(type.objects->root())),
      root_block_(root_, sizeof(root_words)), pool_(*type.objects, root_->pool), ids_(*type.ids) {
    auto build = [&] {
        root().pool = {};
        root().next_id = 0;
        pool_.reserve();
        if constexpr (has_container)
            new (&root().objects.value) container(pool_allocator<T, node_layout>(&root().pool));
        else
            root().pool = {0, 1, 1}; // slot 0 stays unused
        for (std::size_t t = 0; t < table_count; ++t)
            hash_table::initialise(*type.tables[t], root().tables[t]);
        each_btree([&](auto k) {
            btree::initialise(*type.btrees[btree_number<k>()], detail::btree_bits<T, key_at<k>>);
        });
    };
    if (type.created)
        initialise_unlogged(
            *in, [](void* with) { (*static_cast<decltype(build)*>(with))(); }, &build);
    pool_.refresh();
    tables_.reserve(table_count);
    for (std::size_t t = 0; t < table_count; ++t)
        tables_.emplace_back(*type.tables[t], root().tables[t], log);
    attach_btrees(type);
}

// --- many lookups at once ---

/// All searches of a batch take a step before any takes the next, so that they wait for memory
/// together. Detects cycles.
template <typename T>
template <std::size_t K, typename Keys>
void object_index<T>::find_many_ordered(const Keys& keys, std::span<const T*> found) const {
    constexpr std::size_t at_once = 16;
    using pointer = decltype(tree_links<K>(0));
    using lookup = decltype(parts<K>::make_lookup(keys[0]));
    struct search {
        std::optional<lookup> wanted;
        pointer at;    ///< null: it is at its end
        pointer bound; ///< the first one so far that is not before what is wanted
    };
    const auto value = [](pointer at) -> const T& { return tree_node<K>::from_impl(at)->value(); };
    const auto step = [&](search& one) {
        const bool is_before = parts<K>::less(value(one.at), *one.wanted);
        if (!is_before) one.bound = one.at;
        one.at = is_before ? one.at->right() : one.at->left();
        if (one.at) {
            __builtin_prefetch(one.at);
            __builtin_prefetch(reinterpret_cast<const std::byte*>(&value(one.at)) + 16);
        }
        return one.at != nullptr;
    };
    const std::size_t count = std::ranges::size(keys);
    std::array<search, at_once> searches;
    for (std::size_t begin = 0; begin < count; begin += at_once) {
        const std::span batch = std::span(searches).first(std::min(at_once, count - begin));
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const auto& key = keys[begin + i];
            batch[i] = {std::nullopt, nullptr, nullptr};
            if (!parts<K>::can_hold(key)) continue;
            batch[i].wanted.emplace(parts<K>::make_lookup(key));
            batch[i].at = tree_links<K>(0)->parent();
        }
        int height = 0;
        for (bool more = true; more; ++height) {
            if (height > links::max_height) throw_endless_tree();
            more = false;
            for (search& one : batch)
                if (one.at) more = step(one) || more;
        }
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const search& one = batch[i];
            const bool is_found = one.bound && !parts<K>::less(*one.wanted, value(one.bound));
            found[begin + i] = is_found ? &value(one.bound) : nullptr;
            if (is_found) ids_.prefetch(found[begin + i]->id.value); // what modify() reads first
        }
    }
}

// --- create ---

template <typename T>
void object_index<T>::require_own(const T& object) const {
    require_in_slot(object);
    if (find(object.id) != &object) throw_foreign();
}

/// Of require_own(), what reads no object: that one could be there.
template <typename T>
void object_index<T>::require_in_slot(const T& object) const {
    require_writable();
    const std::byte* node = node_of(object);
    const auto distance = static_cast<std::size_t>(node - nodes_);
    if (node > nodes_ && distance < std::size_t{root().pool.high_water} * node_layout::node_bytes &&
        distance % node_layout::node_bytes == 0)
        return;
    throw_foreign();
}

template <typename T>
void object_index<T>::touch_root() noexcept {
    if (log().touch(root_block_)) pool_.begin_epoch(log().epoch());
}

template <typename T>
void object_index<T>::throw_duplicate(const T& object) const {
    boost::mp11::mp_for_each<boost::mp11::mp_iota_c<T::keys::count>>([&](auto k) {
        if constexpr (is_unique(key_at<k>::kind)) {
            const T* other = nullptr;
            if constexpr (is_hashed(key_at<k>::kind)) {
                const slot_number slot = find_other<k>(object, hash_of<k>(object));
                if (slot != 0) other = &value_at(slot);
            } else if constexpr (is_btree(key_at<k>::kind)) {
                const slot_number slot = flat_tree<k>().find(btree_key_of<k>(object));
                if (slot != 0 && slot != slot_of(object)) other = &value_at(slot);
            } else {
                const auto found = tree<k>().find(object);
                if (found != tree<k>().end() && &*found != &object) other = &*found;
            }
            if (other) throw_taken(key_name<key_at<k>>(), parts<k>::text(object), other->id.value);
        }
    });
    throw_taken();
}

/// Descends all trees at once on the paths of the insertion, so that their cache misses overlap.
/// Detects cycles before Boost follows them, except for a type with one tree, where only Boost
/// descends.
template <typename T>
void object_index<T>::fetch_paths(const T& object) const {
    const std::byte* at[T::keys::count != 0 ? T::keys::count : 1];
    const auto node_of = [](auto k, auto links) {
        return links ? reinterpret_cast<const std::byte*>(links) - tree_node<k>::links_at : nullptr;
    };
    each_tree([&](auto k) { at[k] = node_of(k, std::as_const(*tree_links<k>(0)).parent()); });
    int height = 0;
    for (bool more = true; more; ++height) {
        if (height > links::max_height) throw_endless_tree();
        more = false;
        each_tree([&](auto k) {
            if (!at[k]) return;
            const auto& node = *reinterpret_cast<const tree_node<k>*>(at[k]);
            at[k] = node_of(k, comes_before<k>(object, node.value()) ? node.left() : node.right());
            if (!at[k]) return;
            __builtin_prefetch(at[k] + tree_node<k>::links_at);
            __builtin_prefetch(at[k] + node_layout::value_offset + 16);
            more = true;
        });
    }
}

template <typename T>
struct object_index<T>::maker {
    object_index& index;
    initialiser call;
    void* with;
    std::uint32_t number; ///< the object's id
    hashes computed{};
    ring_places rings{};

    void operator()(void* place) {
        try {
            index.make(place, *this);
        } catch (...) {
            index.declare_slot_fresh(place);
            throw;
        }
    }
};

template <typename T>
void object_index<T>::make(void* place, maker& of) {
    T& object = *new (place) T{};
    object.id = id<T>(of.number);
    of.call(of.with, object);
    if (object.id.value != of.number) throw_id_initialised(of.number, object.id.value);
    if constexpr (layout::trees > 1) fetch_paths(object);
    of.computed = hashes_of(object);
    require_unique_hashes(object, of.computed);
    enter_btrees(object);
    each_table([&](auto k) {
        constexpr std::size_t t = table_number<k>();
        of.rings[t] = find_ring<k>(object, of.computed[t]);
    });
    // Nothing may fail from here on: what the initialiser assigned twice is freed now, and the room
    // that its strings used is reserved again.
    log().finish_deferred();
    log().reserve(create_log_bytes);
}

/// Boost frees the slot of an object whose construction failed, possibly without log room left. The
/// failing operation reverts the slot anyway, so its bytes need no log.
template <typename T>
void object_index<T>::declare_slot_fresh(const void* place) noexcept {
    log().set_fresh(static_cast<const std::byte*>(place) - node_layout::value_offset,
                    node_layout::node_bytes);
}

template <typename T>
T& object_index<T>::link_new(maker& of) {
    if constexpr (has_container) {
        const void* made = nullptr;
        auto remember = [&](void* place) {
            made = place;
            of(place);
        };
        const auto [where, inserted] = root().objects.value.emplace(remember);
        if (!inserted) throw_duplicate(*static_cast<const T*>(made));
        return const_cast<T&>(*where);
    } else {
        auto* node = static_cast<std::byte*>(root().pool.take());
        of(node + node_layout::value_offset);
        return *reinterpret_cast<T*>(node + node_layout::value_offset);
    }
}

/// Within an operation. An undone object may have left its entry.
template <typename T>
void object_index<T>::give_out_ids(std::uint32_t end) {
    for (; root().next_id < end; ++root().next_id) {
        log().reserve(note_bytes);
        ids_.set_new(root().next_id, 0);
    }
}

template <typename T>
void object_index<T>::skip_ids(id<T> next) {
    require_writable();
    log().require_here();
    if (next <= next_id()) return;
    ids_.reserve(next.value - 1);
    operation change(log(), root_log_bytes);
    touch_root();
    give_out_ids(next.value);
    change.complete();
}

template <typename T>
const T& object_index<T>::create_by(initialiser call, void* with, std::uint32_t number) {
    require_writable();
    log().require_here(); // before files grow
    if (number == UINT32_MAX) throw_no_ids();
    const bool is_next = number >= root().next_id;
    if (!is_next && ids_.at(number) != 0) throw_id_taken(number);
    pool_.reserve();
    ids_.reserve(number);
    operation change(log(), create_log_bytes);
    touch_root();
    if (is_next) give_out_ids(number);
    reserve_tables();
    log().reserve(create_log_bytes); // a table that grew has used some
    pool_.declare_fresh(log());
    maker making{*this, call, with, number};
    T& object = link_new(making);
    const slot_number slot = slot_of(object);
    each_table([&](auto k) {
        constexpr std::size_t t = table_number<k>();
        enter_table<k>(slot, making.computed[t], making.rings[t]);
    });
    if (is_next) {
        ids_.set_new(number, slot);
        root().next_id = number + 1;
    } else {
        ids_.set(number, slot);
    }
    log().note(&object, number, record_kind::created);
    change.complete();
    return object;
}

// --- modify ---

template <typename T>
bool object_index<T>::keys_differ(const T& a, const T& b) const {
    bool differ = false;
    boost::mp11::mp_for_each<boost::mp11::mp_iota_c<T::keys::count>>(
        [&](auto k) { differ = differ || !parts<k>::equal(a, b); });
    return differ;
}

/// Moves a node whose key changed to its new place in one tree, with Boost's own algorithms; the
/// other trees, whose order still holds, are not read (Boost's modify reads the neighbours in all).
template <typename T>
template <std::size_t K>
void object_index<T>::relink_tree(const T& object) {
    using algorithms = typename tree_node<K>::impl_type;
    using pointer = typename algorithms::pointer;
    const auto value = [](pointer at) -> const T& { return tree_node<K>::from_impl(at)->value(); };
    const pointer header = tree_links<K>(0);
    const pointer node = tree_links<K>(slot_of(object));
    if (is_in_place<K>(object, node, header)) return;
    algorithms::rebalance_for_extract(node, header->parent(), header->left(), header->right());
    pointer above = header;
    bool left = true;
    int height = 0;
    for (pointer at = header->parent(); at; at = left ? at->left() : at->right()) {
        if (++height > links::max_height) throw_endless_tree();
        above = at;
        links::prefetch_children(at);
        left = comes_before<K>(object, value(at));
    }
    if constexpr (is_unique(key_at<K>::kind)) {
        pointer below = above;
        if (left && above != header->left()) algorithms::decrement(below);
        const bool first = left && above == header->left();
        if (!first && !comes_before<K>(value(below), object)) throw_duplicate(object);
    }
    algorithms::link(
        node, left ? boost::multi_index::detail::to_left : boost::multi_index::detail::to_right,
        above, header);
}

/// Whether the node is still between its neighbours.
template <typename T>
template <std::size_t K, typename Pointer>
bool object_index<T>::is_in_place(const T& object, Pointer node, Pointer header) const {
    using algorithms = typename tree_node<K>::impl_type;
    const auto value = [](Pointer at) -> const T& { return tree_node<K>::from_impl(at)->value(); };
    if (node != header->left()) {
        Pointer before = node;
        algorithms::decrement(before);
        if (!comes_before<K>(value(before), object)) return false;
    }
    Pointer after = node;
    algorithms::increment(after);
    return after == header || comes_before<K>(object, value(after));
}

template <typename T>
void object_index<T>::relink(T& object, const T& before) {
    log().reserve(root_log_bytes); // the strings that were assigned may have used what was reserved
    touch_root();
    const slot_number slot = slot_of(object);
    const hashes from = hashes_of(before);
    const hashes to = hashes_of(object);
    reserve_tables();
    require_unique_hashes(object, to);
    relink_btrees(object, before);
    log().reserve(modify_log_bytes);
    each_tree([&](auto k) {
        if (!parts<k>::equal(before, object)) relink_tree<k>(object);
    });
    each_table([&](auto k) {
        if (parts<k>::equal(before, object)) return;
        leave_table<k>(slot, from[table_number<k>()], before);
        const std::uint32_t hash = to[table_number<k>()];
        enter_table<k>(slot, hash, find_ring<k>(object, hash));
    });
}

template <typename T>
object_index<T>::modification::modification(object_index& index, const T& object)
    : index_((index.require_own(object), index)), target_(const_cast<T&>(object)),
      guard_(index.log(), modify_log_bytes) {
    std::memcpy(image_, static_cast<const void*>(&target_), sizeof(T));
    undo_log& log = index_.log();
    if (!index_.is_fresh(index_.slot_of(target_)) && !log.has_image(&target_))
        log.record(&target_, sizeof(T), record_kind::modified);
}

/// The operation's guard rolls back after this, with the object restored: fresh slots have no
/// record.
template <typename T>
object_index<T>::modification::~modification() {
    if (!is_completed_) std::memcpy(static_cast<void*>(&target_), image_, sizeof(T));
}

template <typename T>
void object_index<T>::modification::complete() {
    const T& before = *std::launder(reinterpret_cast<const T*>(image_));
    if (target_.id != before.id) index_.throw_id_modified(before.id.value);
    if (index_.keys_differ(before, target_)) index_.relink(target_, before);
    guard_.complete();
    is_completed_ = true;
}

// --- remove ---

template <typename T>
void object_index<T>::free_buffers(const T& object) {
    if constexpr (layout::buffers != 0)
        size_classes::of(log()).free_later_in(std::as_bytes(std::span(&object, 1)),
                                              buffer_layout_of<T>);
}

/// Removes an object from the tables and btrees, which may still fail for lack of log.
template <typename T>
void object_index<T>::unlink_entries(const T& object, const hashes& computed, searches& found) {
    const slot_number slot = slot_of(object);
    leave_btrees(slot, found);
    log().reserve(remove_log_bytes);
    log().note(&object, object.id.value, record_kind::removed);
    each_table([&](auto k) { leave_table<k>(slot, computed[table_number<k>()], object); });
}

/// Removes its node from the trees and the pool, which cannot fail.
template <typename T>
void object_index<T>::unlink_node(const T& object) {
    const std::uint32_t number = object.id.value;
    if constexpr (has_container) {
        auto& objects = root().objects.value;
        objects.extract(objects.iterator_to(object)); // the node handle frees the slot
    } else {
        root().pool.give(node_at(slot_of(object)));
    }
    ids_.set(number, 0);
}

template <typename T>
void object_index<T>::remove(const T& object) {
    require_in_slot(object);
    if constexpr (btree_count > 0) ids_.prefetch(object.id.value);
    // A removed object's buffers are another's: its keys must not be read.
    if constexpr (layout::buffers != 0) require_own(object);
    searches found = search_btrees(object); // waits for memory together with the entry of the id
    if constexpr (layout::buffers == 0) require_own(object);
    operation change(log(), remove_log_bytes);
    free_buffers(object);
    touch_root();
    unlink_entries(object, hashes_of(object), found);
    pool_.declare_fresh(log()); // only now: the operation may not need these words back
    unlink_node(object);
    change.complete();
}

/// One of many: makes its own room in the log.
template <typename T>
void object_index<T>::remove_within_operation(const T& object) {
    log().reserve(remove_log_bytes);
    free_buffers(object);
    searches found = search_btrees(object);
    unlink_entries(object, hashes_of(object), found);
    unlink_node(object);
}

template <typename T>
void object_index<T>::remove_all(std::span<const T* const> objects) {
    require_writable();
    operation change(log(), remove_log_bytes);
    touch_root();
    for (const T* object : objects) {
        require_own(*object); // and not removed yet, if it is given twice
        remove_within_operation(*object);
    }
    change.complete();
}

template <typename T>
void object_index<T>::clear() {
    require_writable();
    operation change(log(), remove_log_bytes);
    touch_root();
    for (std::uint32_t number = 0; number < root().next_id; ++number)
        if (const T* object = find(id<T>(number))) remove_within_operation(*object);
    change.complete();
}

// --- changes of a session ---

template <typename T>
T object_index<T>::materialise(const session_changes& all, const std::byte* value) const {
    alignas(T) std::byte image[sizeof(T)];
    all.before(value, image);
    const auto range = address_space::containing(nodes_);
    const auto read = [&](buffer_handle from) {
        std::vector<std::byte> content(from.length());
        all.before(size_classes::locate(range, from), content);
        return content;
    };
    const auto handle_in = [](std::byte* object,
                              const buffer_layout::place& one) -> buffer_handle& {
        return *reinterpret_cast<buffer_handle*>(object + one.offset);
    };
    T copy{};
    auto* const bytes = reinterpret_cast<std::byte*>(&copy);
    const buffer_layout& buffers = buffer_layout_of<T>;
    for (const buffer_layout::place& one : buffers.places) // what a default value has
        shared_buffer::release(std::exchange(handle_in(bytes, one), {}), *one.elements);
    std::vector<buffer_handle> handles;
    for (const buffer_layout::place& one : buffers.places)
        handles.push_back(std::exchange(handle_in(image, one), {}));
    std::memcpy(bytes, image, sizeof copy);
    for (std::size_t i = 0; i < handles.size(); ++i) {
        const buffer_layout::place& one = buffers.places[i];
        handle_in(bytes, one) = shared_buffer::heap_copy_of(handles[i], *one.elements, read);
    }
    return copy;
}

template <typename T>
std::vector<change<T>> object_index<T>::changes(const session_changes& all) const {
    std::vector<change<T>> result;
    for (const touched_object& touched : all.objects()) {
        if (touched.window != pool_.file().index()) continue;
        change<T> one{change_kind::modified, id<T>(touched.id), std::nullopt, nullptr};
        if (!touched.existed)
            one.kind = change_kind::created;
        else
            one.before = materialise(all, touched.value_before);
        if (!touched.exists)
            one.kind = change_kind::removed;
        else
            one.now = find(one.id);
        result.push_back(std::move(one));
    }
    return result;
}

// --- compaction ---

template <typename T>
void object_index<T>::relocate(slot_number from, slot_number to) {
    const T& object = value_at(from);
    log().reserve(2 * write_barrier::record_bytes(node_layout::node_bytes) + layout::relink_bytes);
    log().record(node_at(to), node_layout::node_bytes);
    std::memcpy(node_at(to) + node_layout::value_offset, static_cast<const void*>(&object),
                sizeof(T));
    each_tree([&](auto k) {
        tree_node<k>::impl_type::replace(tree_links<k>(from), tree_links<k>(to), tree_links<k>(0));
    });
    each_btree([&](auto k) {
        btrees_[btree_number<k>()].tree->replace(btree_key_of<k>(object), from, to);
    });
    log().reserve(layout::relink_bytes + note_bytes);
    const hashes computed = hashes_of(object);
    each_table([&](auto k) {
        constexpr std::size_t t = table_number<k>();
        if (entry_of<k>(from, computed[t], object) == from)
            tables_[t].replace(computed[t], from, to);
        if constexpr (!is_unique(key_at<k>::kind)) {
            const slot_number next = next_equal<k>(from);
            const slot_number previous = previous_equal<k>(from);
            links_of<k>(to).next.store(next == from ? to : next);
            links_of<k>(to).previous.store(previous == from ? to : previous);
            if (next != from) links_of<k>(next).previous.store(to);
            if (previous != from) links_of<k>(previous).next.store(to);
        }
    });
    ids_.set(object.id.value, to);
}

/// Frees the last used slot: it is a hole itself, or its object moves to the first hole.
template <typename T>
bool object_index<T>::move_last(std::vector<slot_number>& holes, std::size_t& next_hole) {
    if (next_hole == holes.size()) return false;
    const slot_number last = root().pool.high_water - 1;
    if (holes.back() == last)
        holes.pop_back();
    else
        relocate(last, holes[next_hole++]);
    --root().pool.high_water;
    return true;
}

template <typename T>
void object_index<T>::fill_holes(std::vector<slot_number> holes) {
    constexpr int batch = 1024; // objects per operation: bounds the log it takes
    std::size_t next_hole = 0;
    for (bool more = true; more;) {
        operation change(log(), root_log_bytes + note_bytes);
        touch_root();
        for (int moved = 0; moved < batch && more; ++moved)
            more = move_last(holes, next_hole);
        log().reserve(note_bytes);
        const bool filled = next_hole == holes.size();
        root().pool.free_head = filled ? 0 : holes[next_hole];
        if (!filled) { // the list ends at the last remaining hole
            const slot_number none = 0;
            log().record_word(node_at(holes.back()));
            std::memcpy(node_at(holes.back()), &none, sizeof none);
        }
        change.complete();
    }
}

template <typename T>
void object_index<T>::compact() {
    const std::vector<slot_number> holes = root().pool.free_slots(pool_.file());
    {
        operation change(log(), root_log_bytes);
        touch_root();
        root().pool.thread_free_slots(holes, root().pool.high_water);
        change.complete();
    }
    fill_holes(holes);
    window& file = pool_.file();
    file.shrink_to(window_header::page_bytes +
                   std::size_t{root().pool.high_water} * node_layout::node_bytes);
    pool_.refresh();
    ids_.trim(root().next_id);
    for (hash_table& table : tables_)
        table.trim();
    for (const flat_key& key : btrees_) {
        for (std::uint32_t leaf = key.tree->begin().leaf; leaf != 0;) {
            operation change(log(), 0);
            leaf = key.tree->join_leaves(leaf);
            change.complete();
        }
        operation sort(log(), 0);
        std::deque<slot_number> free = key.tree->sort_free_nodes();
        sort.complete();
        for (bool more = true; more;) {
            operation change(log(), 0);
            more = key.tree->fill_free_nodes(free);
            change.complete();
        }
        key.tree->trim();
    }
}

} // namespace chainbase
