#pragma once

#include <boost/interprocess/offset_ptr.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace chainbase::bench {

/// Equal slots in one mapped file that grows in place: the last freed slot first, else the next
/// one. The whole range is mapped at once and the file below it grows in steps, so nothing ever
/// moves. One thread; keeps slots until it is destroyed.
class slot_pool {
public:
    /// Reserves `most_bytes` of addresses. Requires: no file at `path`. Throws:
    /// chainbase::io_error.
    slot_pool(const std::filesystem::path& path, std::size_t most_bytes);
    ~slot_pool();
    slot_pool(const slot_pool&) = delete;
    slot_pool& operator=(const slot_pool&) = delete;

    /// The first call decides how large all slots are. Throws: usage_error for another size,
    /// limit_error when the addresses are used up, io_error when the file cannot grow.
    [[nodiscard]] void* allocate(std::size_t bytes) {
        if (bytes != slot_bytes_) set_slot_bytes(bytes);
        if (free_ == nullptr) return next_slot();
        free_slot* slot = free_;
        free_ = slot->next.get();
        return slot;
    }

    void deallocate(void* slot) noexcept { free_ = new (slot) free_slot{free_}; }

    /// Slots that were ever taken; freed ones stay with the pool.
    [[nodiscard]] std::uint64_t held_bytes() const noexcept { return used_; }

private:
    struct free_slot {
        boost::interprocess::offset_ptr<free_slot> next;
    };

    void set_slot_bytes(std::size_t bytes);
    void* next_slot();
    void grow();

    std::size_t slot_bytes_ = 0;
    std::size_t range_;
    int file_ = -1;
    char* base_ = nullptr;
    std::size_t size_ = 0;
    std::size_t used_ = 0;
    free_slot* free_ = nullptr;
};

/// The pool as Boost.MultiIndex sees it: every pointer inside a node is an offset pointer of eight
/// bytes. Serves containers whose nodes all have the pool's slot size.
template <typename T>
class slot_allocator {
public:
    using value_type = T;
    using pointer = boost::interprocess::offset_ptr<T>;
    using const_pointer = boost::interprocess::offset_ptr<const T>;
    using void_pointer = boost::interprocess::offset_ptr<void>;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    template <typename U>
    struct rebind {
        using other = slot_allocator<U>;
    };

    explicit slot_allocator(slot_pool& pool) noexcept : pool_(&pool) {}
    template <typename U>
    slot_allocator(const slot_allocator<U>& other) noexcept : pool_(other.pool()) {}

    pointer allocate(std::size_t count) {
        static_assert(sizeof(T) % alignof(T) == 0 && alignof(T) <= sizeof(void*));
        return pointer(static_cast<T*>(pool_->allocate(count * sizeof(T))));
    }
    void deallocate(pointer slot, std::size_t) noexcept { pool_->deallocate(slot.get()); }

    [[nodiscard]] slot_pool* pool() const noexcept { return pool_; }

    template <typename U>
    friend bool operator==(const slot_allocator& a, const slot_allocator<U>& b) noexcept {
        return a.pool() == b.pool();
    }

private:
    slot_pool* pool_;
};

} // namespace chainbase::bench
