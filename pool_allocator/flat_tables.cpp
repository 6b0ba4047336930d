#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/flat_tables.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace chainbase {

void id_table::trim(std::uint32_t next_id) {
    constexpr std::uint32_t per_page = window_header::page_bytes / entry_bytes;
    window_.shrink_to(window_header::page_bytes + std::size_t{next_id} * entry_bytes);
    if (window_.holes_take_space()) return; // find() reads the entries of removed objects
    for (std::uint32_t first = 0; first + per_page <= next_id; first += per_page) {
        const slot_number* page = &entry(first);
        if (std::any_of(page, page + per_page, [](slot_number slot) { return slot != 0; }))
            continue;
        window_.punch(window_header::page_bytes + std::size_t{first} * entry_bytes,
                      window_header::page_bytes);
    }
}

usage id_table::measure(std::uint32_t live) const noexcept {
    usage used;
    used.total = window_.bytes();
    used.header = window_header::page_bytes;
    used.links = std::uint64_t{live} * entry_bytes;
    used.slack = used.total - used.header - used.links;
    used.find_holes(window_);
    return used;
}

hash_table::hash_table(window& window, hash_state& state, write_barrier* barrier)
    : window_(window), state_(state), barrier_(barrier), seed_(key_words(window).seed),
      smallest_kept_(state.log2_capacity) {
    if (!barrier || state.log2_capacity == min_log2) return;
    smallest_kept_ = min_log2;
    barrier->keep(*this);
}

void hash_table::keep_seed(window& file, const address_space& addresses,
                           const hash_seed& seed) noexcept {
    addresses.pages().written(file.root(), sizeof(hash_key_words));
    *reinterpret_cast<hash_key_words*>(file.root()) = hash_key_words::of(seed);
}

void hash_table::initialise(window& window, hash_state& state) {
    window.grow_range(area_offset(min_log2), area_offset(min_log2));
    state = {min_log2, 0};
}

void hash_table::throw_damaged(std::uint32_t entry, const std::string& what) const {
    throw damaged_error(
        window_.file() + ": offset " +
        std::to_string(area_offset(state_.log2_capacity) + std::size_t{entry} * entry_bytes) +
        ": " + what + "; run chainbase-inspect check");
}

void hash_table::throw_endless(std::uint32_t hash) const {
    throw_damaged(home(hash), "from here on, more than " + std::to_string(longest_run) +
                                  " entries follow without a gap, which hashes never cause");
}

std::uint32_t hash_table::position(std::uint32_t hash, slot_number slot) const {
    const entry* table = entries();
    std::uint32_t i = home(hash);
    for (std::uint32_t step = 0; step < longest_run; ++step, i = next(i)) {
        if (table[i].slot == slot) return i;
        if (table[i].slot == 0)
            throw_damaged(i, "the search for slot " + std::to_string(slot) +
                                 " ends here, but its entry was not found");
    }
    throw_endless(hash);
}

/// The first free entry of an area for `hash`.
std::uint32_t hash_table::free_place(std::uint32_t hash, std::uint32_t log2) const {
    const entry* table = area(log2);
    const std::uint32_t wrap = (std::uint32_t{1} << log2) - 1;
    std::uint32_t i = home(hash, log2);
    for (std::uint32_t step = 0; step < longest_run; ++step, i = (i + 1) & wrap)
        if (table[i].slot == 0) return i;
    throw_endless(hash);
}

void hash_table::store(std::uint32_t i, entry value) noexcept {
    entry& place = entries()[i];
    write_barrier::active().record(&place, sizeof place);
    place = value;
}

void hash_table::insert(std::uint32_t hash, slot_number slot) {
    store(free_place(hash, state_.log2_capacity), {slot, hash});
    ++state_.used;
}

void hash_table::erase(std::uint32_t hash, slot_number slot) {
    write_barrier& barrier = write_barrier::active();
    const entry* table = entries();
    std::uint32_t hole = position(hash, slot);
    std::uint32_t steps = 0;
    for (std::uint32_t i = next(hole); table[i].slot != 0; i = next(i)) {
        if (++steps == longest_run) throw_endless(hash);
        // An entry may fill the hole if its home is not after the hole, seen around the ring.
        const std::uint32_t from_home = (i - home(table[i].hash)) & mask();
        const std::uint32_t from_hole = (i - hole) & mask();
        if (from_home < from_hole) continue;
        barrier.reserve(store_log_bytes);
        store(hole, table[i]);
        hole = i;
    }
    barrier.reserve(store_log_bytes);
    store(hole, {0, 0});
    --state_.used;
}

void hash_table::replace(std::uint32_t hash, slot_number slot, slot_number to) {
    store(position(hash, slot), {to, hash});
}

void hash_table::grow() {
    const std::uint32_t from = state_.log2_capacity;
    const std::uint32_t to = from + 1;
    if (to > max_log2)
        throw limit_error(window_.file() + ": a hashed key holds at most 2^" +
                          std::to_string(max_log2) + " entries");
    write_barrier::active().keep(*this);
    const std::size_t used_before = window_.bytes();
    window_.grow_range(area_offset(to), area_offset(to));
    write_barrier::active().first_use_long(area(to), area_offset(to));
    if (used_before > area_offset(to)) // entries of an undone growth
        std::memset(area(to), 0, std::min(used_before - area_offset(to), area_offset(to)));
    const entry* old = area(from);
    const entry* const end = old + (std::size_t{1} << from);
    entry* fresh = area(to);
    for (; old != end; ++old)
        if (old->slot != 0) fresh[free_place(old->hash, to)] = *old;
    smallest_kept_ = std::min(smallest_kept_, from);
    state_.log2_capacity = to;
}

void hash_table::release() noexcept {
    if (smallest_kept_ >= state_.log2_capacity) return;
    window_.discard(area_offset(smallest_kept_),
                    area_offset(state_.log2_capacity) - area_offset(smallest_kept_));
    smallest_kept_ = state_.log2_capacity;
}

void hash_table::trim() {
    window_.shrink_to(area_offset(state_.log2_capacity + 1));
    release();
}

usage hash_table::measure() const noexcept {
    usage used;
    used.total = window_.bytes();
    used.header = window_header::page_bytes;
    used.links = std::uint64_t{state_.used} * entry_bytes;
    used.slack = used.total - used.header - used.links;
    used.find_holes(window_);
    return used;
}

} // namespace chainbase
