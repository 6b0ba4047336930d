#pragma once

#include <malloc.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace chainbase::bench {

/// What counting_allocator holds; for one thread.
inline std::uint64_t& heap_bytes_held() noexcept {
    static std::uint64_t bytes = 0;
    return bytes;
}

/// The heap of std::allocator with a count of the bytes taken: what malloc says is usable plus the
/// eight bytes of size that glibc keeps before it.
template <typename T>
class counting_allocator {
public:
    using value_type = T;

    counting_allocator() = default;
    template <typename U>
    counting_allocator(const counting_allocator<U>&) noexcept {}

    T* allocate(std::size_t count) {
        void* memory = std::malloc(count * sizeof(T));
        if (memory == nullptr) throw std::bad_alloc();
        heap_bytes_held() += malloc_usable_size(memory) + sizeof(std::size_t);
        return static_cast<T*>(memory);
    }

    void deallocate(T* memory, std::size_t) noexcept {
        heap_bytes_held() -= malloc_usable_size(memory) + sizeof(std::size_t);
        std::free(memory);
    }

    template <typename U>
    friend bool operator==(const counting_allocator&, const counting_allocator<U>&) noexcept {
        return true;
    }
};

} // namespace chainbase::bench
