#pragma once

#include <chainbase/index.hpp>

#include <array>
#include <cstdint>
#include <ranges>
#include <span>

/// The hashed keys of a type. The table of a unique key has an entry for each object. That of a key
/// that is not unique has one for each value: it leads to the first object of a ring of links in
/// the objects of that value, which are in the order of their ids.
namespace chainbase {

// --- lookup ---

template <typename T>
template <std::size_t K, typename Lookup>
slot_number object_index<T>::find_hashed(const Lookup& key, std::uint32_t hash) const {
    return table<K>().find(hash, [&](slot_number s) { return parts<K>::equal(object_in(s), key); });
}

/// Each key takes three steps, and as many others take theirs in between as their memory needs to
/// arrive: prefetch its entry in the table, prefetch the object that this leads to, find it.
template <typename T>
template <std::size_t K, typename Keys>
void object_index<T>::find_many(const Keys& keys, std::span<const T*> found) const {
    constexpr std::size_t ahead = 16;
    constexpr std::size_t objects_ahead = 8;
    std::array<std::uint32_t, ahead> hashes{}; // of key i at i % ahead
    const std::size_t count = std::ranges::size(keys);
    for (std::size_t i = 0; i < count + ahead; ++i) {
        if (const std::size_t oldest = i - ahead; oldest < count) { // wraps at first
            const auto& key = keys[oldest];
            found[oldest] = nullptr;
            if (parts<K>::can_hold(key)) {
                const slot_number slot =
                    find_hashed<K>(parts<K>::make_lookup(key), hashes[oldest % ahead]);
                if (slot != 0) found[oldest] = &value_at(slot);
            }
            if (found[oldest]) ids_.prefetch(found[oldest]->id.value); // what modify() reads first
        }
        if (i < count && parts<K>::can_hold(keys[i])) {
            hashes[i % ahead] = hash_of<K>(parts<K>::make_lookup(keys[i]));
            table<K>().prefetch(hashes[i % ahead]);
        }
        if (const std::size_t middle = i - (ahead - objects_ahead); middle < count)
            prefetch_object(table<K>().likely(hashes[middle % ahead]));
    }
}

// --- before anything is written ---

template <typename T>
auto object_index<T>::hashes_of(const T& object) const -> hashes {
    hashes computed{};
    each_table([&](auto k) { computed[table_number<k>()] = hash_of<k>(object); });
    return computed;
}

template <typename T>
void object_index<T>::reserve_tables() {
    for (hash_table& table : tables_)
        table.reserve();
}

template <typename T>
template <std::size_t K>
slot_number object_index<T>::find_other(const T& object, std::uint32_t hash) const {
    return table<K>().find(hash, [&](slot_number s) {
        return &object_in(s) != &object && parts<K>::equal(value_at(s), object);
    });
}

template <typename T>
void object_index<T>::require_unique_hashes(const T& object, const hashes& computed) const {
    each_table([&](auto k) {
        if constexpr (is_unique(key_at<k>::kind))
            if (find_other<k>(object, computed[table_number<k>()]) != 0) throw_duplicate(object);
    });
}

// --- entries and rings ---

template <typename T>
template <std::size_t K>
auto object_index<T>::links_of(slot_number slot) const noexcept -> list_links& {
    return *reinterpret_cast<list_links*>(node_at(slot) + node_layout::list_offset +
                                          list_number<K>() * layout::list_entry_bytes);
}

template <typename T>
template <std::size_t K>
slot_number object_index<T>::entry_of(slot_number slot, std::uint32_t hash, const T& as) const {
    if constexpr (is_unique(key_at<K>::kind))
        return slot;
    else
        return table<K>().find(
            hash, [&](slot_number s) { return s == slot || parts<K>::equal(object_in(s), as); });
}

template <typename T>
template <std::size_t K>
slot_number object_index<T>::previous_equal(slot_number slot) const {
    const slot_number previous = links_of<K>(slot).previous.load();
    if (!is_slot(previous) || links_of<K>(previous).next.load() != slot) [[unlikely]]
        throw_bad_link("a ring of equal keys", previous);
    return previous;
}

template <typename T>
template <std::size_t K>
auto object_index<T>::find_ring(const T& object, std::uint32_t hash) const -> ring_place {
    ring_place place;
    if constexpr (!is_unique(key_at<K>::kind)) {
        place.head = table<K>().find(
            hash, [&](slot_number s) { return parts<K>::equal(object_in(s), object); });
        if (place.head == 0) return place;
        const slot_number last = previous_equal<K>(place.head);
        // New objects have the largest id, so it looks from the end.
        for (place.previous = last; value_at(place.previous).id.value > object.id.value;
             place.previous = previous_equal<K>(place.previous)) {
            if (place.previous != place.head) continue;
            place.is_first = true;
            place.previous = last;
            break;
        }
    }
    return place;
}

template <typename T>
template <std::size_t K>
void object_index<T>::enter_table(slot_number slot, std::uint32_t hash, const ring_place& place) {
    hash_table& table = tables_[table_number<K>()];
    if constexpr (is_unique(key_at<K>::kind)) {
        table.insert(hash, slot);
    } else if (place.head == 0) {
        table.insert(hash, slot);
        links_of<K>(slot).next.store(slot);
        links_of<K>(slot).previous.store(slot);
    } else {
        const slot_number next = links_of<K>(place.previous).next.load();
        if (place.is_first) table.replace(hash, place.head, slot);
        links_of<K>(slot).next.store(next);
        links_of<K>(slot).previous.store(place.previous);
        links_of<K>(place.previous).next.store(slot);
        links_of<K>(next).previous.store(slot);
    }
}

/// Erasing takes as much log as it has to, so room for the rest of the operation is made again.
template <typename T>
template <std::size_t K>
void object_index<T>::leave_table(slot_number slot, std::uint32_t hash, const T& as) {
    hash_table& table = tables_[table_number<K>()];
    const auto erase = [&] {
        table.erase(hash, slot);
        log().reserve(modify_log_bytes > remove_log_bytes ? modify_log_bytes : remove_log_bytes);
    };
    if constexpr (is_unique(key_at<K>::kind)) {
        erase();
    } else {
        const slot_number head = entry_of<K>(slot, hash, as);
        const slot_number next = next_equal<K>(slot);
        const slot_number previous = previous_equal<K>(slot);
        if (next == slot)
            erase();
        else if (head == slot)
            table.replace(hash, slot, next);
        links_of<K>(previous).next.store(next);
        links_of<K>(next).previous.store(previous);
    }
}

} // namespace chainbase
