#pragma once

#include <cstdint>

namespace chainbase::bench {

/// Counts the calls of operator new in all threads of this program while an object lives.
/// (allocations.cpp replaces the operators in this program.) One object at a time.
class counted_allocations {
public:
    counted_allocations() noexcept;
    ~counted_allocations();
    counted_allocations(const counted_allocations&) = delete;
    counted_allocations& operator=(const counted_allocations&) = delete;

    /// Calls since construction.
    [[nodiscard]] std::uint64_t so_far() const noexcept;
};

} // namespace chainbase::bench
