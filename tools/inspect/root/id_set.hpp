#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace chainbase::inspect {

/// Ids below a number, a bit each. Thread-safe.
class id_set {
public:
    explicit id_set(std::uint32_t end = 0) : end_(end), words_((std::size_t{end} + 63) / 64) {}

    /// Returns whether it was not in the set before. Requires id < end.
    bool add(std::uint32_t id) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << id % 64;
        return (words_[id / 64].fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
    }
    [[nodiscard]] bool contains(std::uint32_t id) const noexcept {
        return id < end_ && (words_[id / 64].load(std::memory_order_relaxed) >> id % 64 & 1) != 0;
    }

private:
    std::uint32_t end_;
    std::vector<std::atomic<std::uint64_t>> words_;
};

} // namespace chainbase::inspect
