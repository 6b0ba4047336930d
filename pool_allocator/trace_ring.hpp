#pragma once

#include <pool_allocator/trace_reading.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace chainbase::trace {

/// The last events of one thread, until they are taken: one thread puts, another takes, neither
/// waits. What comes while it is full is dropped and counted.
class event_ring {
public:
    /// Room for so many events, a power of two.
    explicit event_ring(std::size_t capacity) : slots_(capacity) {}
    [[nodiscard]] std::size_t capacity() const noexcept { return slots_.size(); }

    void put(const event& one) noexcept {
        const std::uint64_t at = put_.load(std::memory_order_relaxed);
        if (at - taken_.load(std::memory_order_acquire) == slots_.size()) {
            dropped_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        slots_[at & (slots_.size() - 1)] = one;
        put_.store(at + 1, std::memory_order_release);
    }

    /// Appends what is there to `to`, oldest first. Returns how many were dropped since last time.
    std::uint64_t take(std::vector<event>& to) {
        const std::uint64_t end = put_.load(std::memory_order_acquire);
        std::uint64_t at = taken_.load(std::memory_order_relaxed);
        to.reserve(to.size() + (end - at));
        for (; at != end; ++at)
            to.push_back(slots_[at & (slots_.size() - 1)]);
        taken_.store(end, std::memory_order_release);
        return dropped_.exchange(0, std::memory_order_relaxed);
    }

    /// Takes what is there to nowhere. Returns how many events were dropped by that and before.
    std::uint64_t discard() noexcept {
        const std::uint64_t end = put_.load(std::memory_order_acquire);
        const std::uint64_t lost = end - taken_.exchange(end, std::memory_order_acq_rel);
        return lost + dropped_.exchange(0, std::memory_order_relaxed);
    }

private:
    std::vector<event> slots_;
    std::atomic<std::uint64_t> put_{0};
    std::atomic<std::uint64_t> taken_{0};
    std::atomic<std::uint64_t> dropped_{0};
};

} // namespace chainbase::trace
