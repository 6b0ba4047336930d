#include <pool_allocator/address_space.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/resource_limits.hpp>

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <string>

namespace chainbase {

namespace {

constexpr int reservation = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

std::mutex& registry_mutex() {
    static std::mutex mutex;
    return mutex;
}

bool is_free(std::size_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_NONE, reservation, -1, 0);
    return at != MAP_FAILED && munmap(at, bytes) == 0;
}

} // namespace

void address_space::require_possible(std::size_t window_bytes, std::size_t windows) {
    if (window_bytes == 0 || window_bytes % alignment != 0)
        throw usage_error("address_space: the window size must be a multiple of " +
                          std::to_string(alignment) + " bytes, not " +
                          std::to_string(window_bytes));
    if (windows > max_bytes / window_bytes) // divided, since the product may wrap
        throw limit_error(std::to_string(windows) + " windows of " + std::to_string(window_bytes) +
                          " bytes are more than the " + std::to_string(max_bytes) +
                          " that the log can name; create the state with smaller or fewer windows");
}

std::size_t address_space::window_that_fits(std::size_t window_bytes, std::size_t windows) {
    constexpr std::size_t least = std::size_t{64} << 20;
    if (windows > max_bytes / window_bytes) return window_bytes; // impossible; and it may wrap
    const std::size_t all = window_bytes * windows;
    if (is_free(all + all / page_tracker::page_bytes + alignment)) return window_bytes;
    std::size_t fits = window_bytes / 2;
    while (fits > least && !is_free(2 * fits * windows))
        fits /= 2;
    return std::max(fits, least);
}

address_space::address_space(std::size_t window_bytes, std::size_t windows)
    : window_bytes_(window_bytes), windows_(windows) {
    require_possible(window_bytes, windows);
    file_bytes_ = std::make_unique<std::size_t[]>(windows);
    reserved_bytes_ = window_bytes * windows + alignment;
    void* at = mmap(nullptr, reserved_bytes_, PROT_NONE, reservation, -1, 0);
    if (at == MAP_FAILED) throw_no_addresses(reserved_bytes_);
    reserved_ = static_cast<std::byte*>(at);
    const auto misaligned = reinterpret_cast<std::uintptr_t>(at) % alignment;
    base_ = reserved_ + (misaligned ? alignment - misaligned : 0);
    try {
        pages_ = std::make_unique<page_tracker>(base_,
                                                window_bytes * windows / page_tracker::page_bytes);
        enter_registry();
    } catch (...) {
        munmap(reserved_, reserved_bytes_);
        throw;
    }
}

address_space::~address_space() {
    leave_registry();
    munmap(reserved_, reserved_bytes_);
}

void address_space::vacate(std::size_t index) const noexcept {
    file_bytes_[index] = 0;
    mmap(place(index), window_bytes_, PROT_NONE, reservation | MAP_FIXED, -1, 0);
}

/// Makes system calls only, as a fork handler must.
void address_space::forbid_stores_in_forks() {
    static const int failed = pthread_atfork(nullptr, nullptr, [] {
        for (const entry& one : registry_)
            if (const std::uintptr_t base = one.base.load(std::memory_order_relaxed); base != 0)
                mprotect(reinterpret_cast<void*>(base), one.bytes.load(std::memory_order_relaxed),
                         PROT_READ);
    });
    if (failed != 0) throw std::bad_alloc();
}

void address_space::enter_registry() {
    forbid_stores_in_forks();
    const std::lock_guard lock(registry_mutex());
    for (std::size_t i = 0; i < registry_capacity; ++i) {
        entry& place = registry_[i];
        if (place.base.load(std::memory_order_relaxed) != 0) continue;
        // A reader that loads a new size then finds that the base has changed (containing()).
        place.bytes.store(window_bytes_ * windows_, std::memory_order_release);
        place.window_bytes.store(window_bytes_, std::memory_order_release);
        place.base.store(reinterpret_cast<std::uintptr_t>(base_), std::memory_order_release);
        if (i >= registry_used_.load(std::memory_order_relaxed))
            registry_used_.store(i + 1, std::memory_order_release);
        return;
    }
    throw limit_error("more than " + std::to_string(registry_capacity) +
                      " states are open in this process: close one first");
}

void address_space::leave_registry() noexcept {
    const std::lock_guard lock(registry_mutex());
    for (entry& place : registry_)
        if (place.base.load(std::memory_order_relaxed) == reinterpret_cast<std::uintptr_t>(base_))
            place.base.store(0, std::memory_order_release);
}

} // namespace chainbase
