#include <pool_allocator/base/error.hpp>
#include <pool_allocator/pool.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace chainbase {

void* pool_state::take() noexcept {
    ++live;
    if (free_head == 0) {
        std::byte* fresh = address(high_water++);
        write_barrier::active().first_use(fresh, window_header::of(this).slot_bytes);
        return fresh;
    }
    std::byte* slot = address(free_head);
    // Logged for fresh slots too: if the operation fails, the first word belongs to the free list
    // again.
    write_barrier::active().record(slot, window_header::of(this).slot_bytes);
    std::memcpy(&free_head, slot, sizeof free_head);
    return slot;
}

void pool_state::give(void* slot) noexcept {
    write_barrier::active().record_word(slot);
    std::memcpy(slot, &free_head, sizeof free_head);
    free_head = slot_of(slot);
    --live;
}

namespace {

[[noreturn]] void throw_bad_list(const window& file, const std::string& what) {
    throw damaged_error(file.file() + ": its free list " + what + "; run chainbase-inspect check");
}

} // namespace

std::vector<slot_number> pool_state::free_slots(const window& file) const {
    if (live > high_water)
        throw_bad_list(file, "has " + std::to_string(high_water) + " slots less " +
                                 std::to_string(live) + " in use");
    std::vector<slot_number> slots;
    slots.reserve(free());
    for (slot_number slot = free_head; slot != 0;) {
        if (slot >= high_water)
            throw_bad_list(file, "leads to slot " + std::to_string(slot) + ", of " +
                                     std::to_string(high_water));
        if (slots.size() == free())
            throw_bad_list(file,
                           "goes on after the " + std::to_string(free()) + " slots that are free");
        slots.push_back(slot);
        std::memcpy(&slot, address(slot), sizeof slot);
    }
    if (slots.size() != free())
        throw_bad_list(file, "ends after " + std::to_string(slots.size()) + " of " +
                                 std::to_string(free()) + " slots that are free");
    std::sort(slots.begin(), slots.end());
    return slots;
}

void pool_state::thread_free_slots(const std::vector<slot_number>& slots, slot_number end) {
    write_barrier& barrier = write_barrier::active();
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const slot_number next = i + 1 < slots.size() ? slots[i + 1] : 0;
        std::byte* slot = address(slots[i]);
        if (std::memcmp(slot, &next, sizeof next) == 0) continue;
        barrier.reserve(write_barrier::record_bytes(sizeof next));
        barrier.record_word(slot);
        std::memcpy(slot, &next, sizeof next);
    }
    free_head = slots.empty() ? 0 : slots.front();
    high_water = end;
}

void usage::find_holes(const window& file) noexcept {
    const std::uint64_t held = file.held_bytes();
    punched = std::min(slack, total - std::min(total, held));
    slack -= punched;
}

usage& usage::operator+=(const usage& other) noexcept {
    header += other.header;
    links += other.links;
    values += other.values;
    slack += other.slack;
    punched += other.punched;
    total += other.total;
    slots_live += other.slots_live;
    slots_free += other.slots_free;
    slots_never_used += other.slots_never_used;
    return *this;
}

void pool::refresh() noexcept {
    const window_header& h = window_.header();
    const std::size_t slots =
        (window_.bytes() - std::min<std::size_t>(window_.bytes(), h.first_slot)) / h.slot_bytes;
    capacity_ = static_cast<slot_number>(std::min<std::size_t>(slots, max_slots));
}

void pool::throw_bad_free_head() const {
    throw_bad_list(window_, "leads to slot " + std::to_string(state_.free_head - list_base_) +
                                ", of " + std::to_string(state_.high_water));
}

void pool::grow(slot_number slots) {
    refresh();
    const std::uint64_t wanted = std::uint64_t{state_.high_water} + slots;
    if (wanted > max_slots)
        throw limit_error(window_.file() + ": a pool holds at most " + std::to_string(max_slots) +
                          " slots, and " + std::to_string(state_.live) +
                          " are live; archive or remove objects");
    if (wanted <= capacity_) return;
    const window_header& h = window_.header();
    window_.grow_to(h.first_slot + wanted * h.slot_bytes);
    refresh();
}

} // namespace chainbase
