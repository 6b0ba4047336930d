#include <tools/bench/allocations.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<bool> counting{false};
std::atomic<std::uint64_t> calls{0};

/// Costs one load in benches that do not count.
void count_call() noexcept {
    if (counting.load(std::memory_order_relaxed)) calls.fetch_add(1, std::memory_order_relaxed);
}

void* checked(void* memory) {
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

} // namespace

// All other forms of new and delete call these.

void* operator new(std::size_t bytes) {
    count_call();
    return checked(std::malloc(std::max<std::size_t>(bytes, 1)));
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
    count_call();
    const auto unit = static_cast<std::size_t>(alignment);
    const std::size_t whole = (std::max<std::size_t>(bytes, 1) + unit - 1) / unit * unit;
    return checked(std::aligned_alloc(unit, whole));
}

void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

namespace chainbase::bench {

counted_allocations::counted_allocations() noexcept {
    calls.store(0, std::memory_order_relaxed);
    counting.store(true, std::memory_order_relaxed);
}

counted_allocations::~counted_allocations() {
    counting.store(false, std::memory_order_relaxed);
}

std::uint64_t counted_allocations::so_far() const noexcept {
    return calls.load(std::memory_order_relaxed);
}

} // namespace chainbase::bench
