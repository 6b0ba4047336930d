#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace chainbase {

/// A double-ended queue of plain values, in memory that only grows; mirrors the log's chunks and
/// sessions. Making room is a separate call, so that nothing else can fail.
///
/// Written here to keep compilation short, since every unit that includes database.hpp includes it:
/// Boost's circular_buffer took as long to compile as the rest of this layer.
template <typename T>
    requires std::is_trivially_copyable_v<T>
class ring {
public:
    /// Makes sure that one more element fits. Throws std::bad_alloc.
    void make_room() {
        if (size_ == capacity_) grow();
    }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// The element `i` places behind the front.
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return slots_[place(i)]; }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return slots_[place(i)]; }
    [[nodiscard]] T& front() noexcept { return (*this)[0]; }
    [[nodiscard]] const T& front() const noexcept { return (*this)[0]; }
    [[nodiscard]] T& back() noexcept { return (*this)[size_ - 1]; }
    [[nodiscard]] const T& back() const noexcept { return (*this)[size_ - 1]; }

    /// Requires make_room().
    void push_back(const T& value) noexcept { slots_[place(size_++)] = value; }
    /// Requires make_room().
    void push_front(const T& value) noexcept {
        --first_;
        ++size_;
        front() = value;
    }
    void pop_back() noexcept { --size_; }
    /// Requires count <= size().
    void erase_begin(std::size_t count) noexcept {
        first_ += count;
        size_ -= count;
    }
    void erase_end(std::size_t count) noexcept { size_ -= count; }
    void clear() noexcept { size_ = 0; }

private:
    [[nodiscard]] std::size_t place(std::size_t i) const noexcept {
        return (first_ + i) & (capacity_ - 1);
    }
    void grow() {
        const std::size_t larger = capacity_ == 0 ? 16 : 2 * capacity_;
        auto fresh = std::make_unique<T[]>(larger);
        for (std::size_t i = 0; i < size_; ++i)
            fresh[i] = (*this)[i];
        slots_ = std::move(fresh);
        capacity_ = larger;
        first_ = 0;
    }

    std::unique_ptr<T[]> slots_;
    std::size_t capacity_ = 0; ///< 0 or a power of two
    std::size_t first_ = 0;    ///< never reduced modulo the capacity
    std::size_t size_ = 0;
};

} // namespace chainbase
