#pragma once

#include <cstdint>

namespace chainbase::bench {

/// The calls of operator new that this program made in all its threads while they were counted.
/// (allocations.cpp replaces the operators for that, in this program alone.) One at a time.
class counted_allocations {
public:
    counted_allocations() noexcept;
    ~counted_allocations();
    counted_allocations(const counted_allocations&) = delete;
    counted_allocations& operator=(const counted_allocations&) = delete;

    /// Since this was made.
    [[nodiscard]] std::uint64_t so_far() const noexcept;
};

} // namespace chainbase::bench
