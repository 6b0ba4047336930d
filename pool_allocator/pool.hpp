#pragma once

#include <pool_allocator/fwd.hpp>
#include <pool_allocator/window.hpp>
#include <pool_allocator/write_barrier.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace chainbase {

/// The words of a pool, kept in the root block of its window (so their own address leads to the
/// slot size and first slot in the header page).
///
/// Slots are equal and contiguous. Those at or above `high_water` were never used; below it a slot
/// is live or in the free list, which is threaded through the first word of each free slot.
/// Invariant: live + free + never used = slots of the file; free = high_water - live.
///
///     0  free_head    4   the free slot to take next, 0 if there is none
///     4  high_water   4   slots at or above were never used
///     8  live         4   slots in use, the pool's own included
struct pool_state {
    slot_number free_head;
    slot_number high_water;
    slot_number live;

    [[nodiscard]] std::uint32_t free() const noexcept { return high_water - live; }

    /// Takes the head of the free list, else the next slot never used. Logs the content of a reused
    /// slot. Requires a free or reserved slot, the words' root touched, and log room for the slot.
    [[nodiscard]] void* take() noexcept;
    /// Pushes a live slot to the free list. Logs its first word. Requires the root touched.
    void give(void* slot) noexcept;

    /// The free slots in order of address; the words are those of `file`. Throws std::bad_alloc,
    /// damaged_error when the list leads out of the slots, or has more or fewer than the counts
    /// say.
    [[nodiscard]] std::vector<slot_number> free_slots(const window& file) const;
    /// Makes `slots`, in rising order, the free list, and `end` the end of the used part. Logs the
    /// changes. Requires an operation, the root touched, and that all other free slots are above
    /// `end`. Throws out_of_space_error when the log cannot grow; the operation must then fail.
    void thread_free_slots(const std::vector<slot_number>& slots, slot_number end);

    [[nodiscard]] std::byte* address(slot_number slot) const noexcept {
        const window_header& h = window_header::of(this);
        return slots() + std::size_t{slot} * h.slot_bytes;
    }
    [[nodiscard]] slot_number slot_of(const void* address) const noexcept {
        const auto distance = static_cast<const std::byte*>(address) - slots();
        return static_cast<slot_number>(static_cast<std::size_t>(distance) /
                                        window_header::of(this).slot_bytes);
    }

private:
    [[nodiscard]] std::byte* slots() const noexcept {
        const window_header& h = window_header::of(this);
        return reinterpret_cast<std::byte*>(const_cast<window_header*>(&h)) + h.first_slot;
    }
};

static_assert(sizeof(pool_state) == 12 && offsetof(pool_state, high_water) == 4 &&
              offsetof(pool_state, live) == 8);

/// How the bytes of a window are used; the parts sum to `total` exactly.
struct usage {
    std::uint64_t header = 0;  ///< header page and the pool's own slot
    std::uint64_t links = 0;   ///< tree links and table entries of live objects
    std::uint64_t values = 0;  ///< values of live objects, buffers in use
    std::uint64_t slack = 0;   ///< free, never used, padding
    std::uint64_t punched = 0; ///< within the file's length, but not held by the file system
    std::uint64_t total = 0;   ///< the file's length
    std::uint64_t slots_live = 0;
    std::uint64_t slots_free = 0;
    std::uint64_t slots_never_used = 0;

    /// Moves the bytes of `file` that the file system does not hold from `slack` to `punched`;
    /// every process measures the same. Requires that `slack` includes them.
    void find_holes(const window& file) noexcept;
    usage& operator+=(const usage& other) noexcept;
};

/// The writer's handle on a pool: makes room, and remembers which slots are fresh in this epoch.
class pool {
public:
    /// At most this many slots: a link has 31 bits for a signed distance.
    static constexpr slot_number max_slots = slot_number{1} << 30;

    /// `state` lies in the root block of `window`; both outlive the pool. `list_base` is added to
    /// slot numbers in the free list, so that 0 means none where slot 0 is an ordinary slot.
    pool(window& window, pool_state& state, slot_number list_base = 0) noexcept
        : window_(window), state_(state), list_base_(list_base) {}

    /// Ensures that the next `slots` calls of take() succeed. Throws out_of_space_error,
    /// limit_error, damaged_error when the free list leads out of the slots.
    void reserve(slot_number slots = 1) {
        fault::reach(fault::point::slot);
        if (state_.free_head != 0 && slots == 1) {
            if (state_.free_head - list_base_ >= state_.high_water) [[unlikely]]
                throw_bad_free_head();
            return;
        }
        if (std::uint64_t{state_.high_water} + slots > capacity_) grow(slots);
    }

    /// Called at the pool's first touch in `epoch`: slots from here on are fresh in it.
    void begin_epoch(std::uint64_t epoch) noexcept {
        fresh_from_ = state_.high_water;
        fresh_epoch_ = epoch;
    }
    /// Declares the slots that are new in this epoch fresh for the current operation. Requires
    /// begin_epoch in it.
    void declare_fresh(write_barrier& barrier) const noexcept {
        const std::byte* begin = state_.address(fresh_from_);
        barrier.set_fresh(begin,
                          static_cast<std::size_t>(window_.base() + window_.limit() - begin));
    }
    [[nodiscard]] bool is_fresh(slot_number slot, std::uint64_t epoch) const noexcept {
        return slot >= fresh_from_ && epoch == fresh_epoch_;
    }

    /// Rereads the capacity after the file was truncated.
    void refresh() noexcept;
    [[nodiscard]] pool_state& state() const noexcept { return state_; }
    [[nodiscard]] window& file() const noexcept { return window_; }

private:
    void grow(slot_number slots);
    [[noreturn]] void throw_bad_free_head() const;

    window& window_;
    pool_state& state_;
    slot_number list_base_;
    slot_number capacity_ = 0;
    slot_number fresh_from_ = 0;
    std::uint64_t fresh_epoch_ = 0;
};

} // namespace chainbase
