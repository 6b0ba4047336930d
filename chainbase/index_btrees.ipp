#pragma once

#include <chainbase/index.hpp>

#include <algorithm>
#include <array>
#include <ranges>
#include <span>
#include <string>
#include <utility>

/// The btree keys of a type: a tree in a window of its own for each, whose entries are slots. Keys
/// that are not unique end with the object's id, so that no two in a tree are equal.
namespace chainbase {

// --- keys as bits and bytes ---

template <typename T>
template <std::size_t K, typename Writer>
void object_index<T>::append_key(Writer& to, const T& object) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        using all = parts<K>;
        (detail::append_bits(to, all::template get<I>(object),
                             all::template part<I>::is_descending),
         ...);
    }(std::make_index_sequence<parts<K>::count>());
    if constexpr (!is_unique(key_at<K>::kind)) detail::append_bits(to, object.id, false);
}

template <typename T>
template <std::size_t K>
btree_wanted object_index<T>::btree_key_of(const T& object) {
    if constexpr (detail::btree_bits<T, key_at<K>> == btree::any_length) {
        detail::key_bytes bytes;
        append_key<K>(bytes, object);
        return btree_wanted(std::move(bytes.key()));
    } else {
        detail::key_bits bits;
        append_key<K>(bits, object);
        return bits.key();
    }
}

template <typename T>
template <std::size_t K, typename Lookup>
btree_wanted object_index<T>::btree_bound_of(const Lookup& key, bool is_last) {
    const auto append_to = [&](auto& to) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            using all = parts<K>;
            (detail::append_bits(to, std::get<I>(key), all::template part<I>::is_descending), ...);
        }(std::make_index_sequence<std::tuple_size_v<Lookup>>());
    };
    if constexpr (detail::btree_bits<T, key_at<K>> == btree::any_length) {
        detail::key_bytes bytes;
        append_to(bytes);
        return btree_wanted(std::move(bytes.key()), is_last);
    } else {
        detail::key_bits bits;
        append_to(bits);
        if (is_last) bits.fill();
        return bits.key();
    }
}

template <typename T>
template <std::size_t K>
struct object_index<T>::keys_in_slots final : btree_keys {
    explicit keys_in_slots(const object_index& objects) noexcept : in(objects) {}

    [[nodiscard]] btree_key read(slot_number slot) const override {
        constexpr std::size_t length = detail::btree_bits<T, key_at<K>>;
        detail::key_bits bits(length == btree::any_length ? btree::first_bits : btree::max_bits);
        append_key<K>(bits, in.object_in(slot, in_btree));
        return bits.key();
    }
    [[nodiscard]] std::string read_whole(slot_number slot) const override {
        detail::key_bytes bytes;
        append_key<K>(bytes, in.object_in(slot, in_btree));
        return std::move(bytes.key());
    }
    void prefetch_whole(slot_number slot) const override {
        const T& object = in.object_in(slot, in_btree);
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (prefetch_text(parts<K>::template get<I>(object)), ...);
        }(std::make_index_sequence<parts<K>::count>());
    }
    void prefetch(slot_number slot) const noexcept override {
        using part = typename parts<K>::template part<0>;
        __builtin_prefetch(reinterpret_cast<const std::byte*>(&in.value_at(slot)) +
                           detail::offset_of<T>(part::pointer));
    }

    const object_index& in;

private:
    template <typename V>
    static void prefetch_text(const V& value) noexcept {
        if constexpr (detail::is_shared_text<V>) __builtin_prefetch(value.view().data());
    }
};

template <typename T>
void object_index<T>::attach_btrees(const type_windows& type) {
    btrees_.reserve(btree_count);
    each_btree([&](auto k) {
        auto keys = std::make_unique<keys_in_slots<k>>(*this);
        auto tree = std::make_unique<btree>(*type.btrees[btree_number<k>()], *keys,
                                            detail::btree_bits<T, key_at<k>>,
                                            is_writable() ? &log() : nullptr);
        btrees_.push_back({std::move(keys), std::move(tree)});
    });
}

// --- lookup ---

template <typename T>
template <std::size_t K, typename Lookup>
const T* object_index<T>::first_of(const Lookup& key, btree::search& at_leaf) const {
    const btree& tree = flat_tree<K>();
    if constexpr (is_unique(key_at<K>::kind) && std::tuple_size_v<Lookup> == parts<K>::count) {
        tree.finish(at_leaf);
        return at_leaf.found ? &object_in(at_leaf.found, in_btree) : nullptr;
    } else {
        const btree::place at = tree.bound_of(at_leaf);
        if (at.leaf == 0) return nullptr;
        const T& object = object_in(tree.slot_at(at), in_btree);
        return parts<K>::less(key, object) ? nullptr : &object;
    }
}

template <typename T>
template <std::size_t K, typename Lookup>
const T* object_index<T>::find_btree(const Lookup& key) const {
    const btree& tree = flat_tree<K>();
    btree::search of = tree.start(btree_bound_of<K>(key, false));
    while (tree.step(of)) {
    }
    return first_of<K>(key, of);
}

/// All searches of a batch take a step before any takes the next, so that they wait for memory
/// together.
template <typename T>
template <std::size_t K, typename Keys>
void object_index<T>::find_many_btree(const Keys& keys, std::span<const T*> found) const {
    constexpr std::size_t at_once = 16;
    const btree& tree = flat_tree<K>();
    const std::size_t count = std::ranges::size(keys);
    std::array<btree::search, at_once> searches;
    for (std::size_t begin = 0; begin < count; begin += at_once) {
        const std::span batch = std::span(searches).first(std::min(at_once, count - begin));
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const auto& key = keys[begin + i];
            batch[i].next = 0; // it has nothing to look for
            if (parts<K>::can_hold(key))
                batch[i] = tree.start(btree_bound_of<K>(parts<K>::make_lookup(key), false));
        }
        for (bool more = true; more;) {
            more = false;
            for (btree::search& one : batch)
                more = tree.step(one) || more;
        }
        for (std::size_t i = 0; i < batch.size(); ++i) {
            const auto& key = keys[begin + i];
            found[begin + i] = nullptr;
            if (!parts<K>::can_hold(key)) continue;
            const T* const object = first_of<K>(parts<K>::make_lookup(key), batch[i]);
            found[begin + i] = object;
            if (object) ids_.prefetch(object->id.value); // what modify() reads first
        }
    }
}

// --- changes ---

/// The searches for the entries of an object, which may be of no index, each at its leaf; they take
/// turns.
template <typename T>
auto object_index<T>::search_btrees(const T& object) const -> searches {
    searches all;
    each_btree(
        [&](auto k) { all[btree_number<k>()] = flat_tree<k>().start(btree_key_of<k>(object)); });
    for (bool more = btree_count > 0; more;) {
        more = false;
        for (std::size_t i = 0; i < btree_count; ++i)
            more = btrees_[i].tree->step(all[i]) || more;
    }
    return all;
}

template <typename T>
void object_index<T>::enter_btrees(const T& object) {
    if constexpr (btree_count > 0) {
        searches all = search_btrees(object);
        for (std::size_t i = 0; i < btree_count; ++i) {
            btrees_[i].tree->finish(all[i]);
            if (all[i].found != 0) throw_duplicate(object);
        }
        for (std::size_t i = 0; i < btree_count; ++i)
            btrees_[i].tree->insert(all[i], slot_of(object));
    }
}

/// By searches that search_btrees() made since anything changed.
template <typename T>
void object_index<T>::leave_btrees(slot_number slot, searches& found) {
    for (std::size_t i = 0; i < btree_count; ++i)
        btrees_[i].tree->erase(found[i], slot);
}

template <typename T>
void object_index<T>::relink_btrees(const T& object, const T& before) {
    each_btree([&](auto k) {
        if (parts<k>::equal(before, object)) return;
        btree& tree = *btrees_[btree_number<k>()].tree;
        if (tree.move(btree_key_of<k>(before), btree_key_of<k>(object), slot_of(object)) != 0)
            throw_duplicate(object);
    });
}

} // namespace chainbase
