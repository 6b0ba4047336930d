#pragma once

#include <pool_allocator/fwd.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace chainbase {

/// The handle of an immutable buffer in the segment: 8 bytes, all zero for "empty".
///
///     bits  0-31  length in bytes
///     bits 32-62  slot within the pool of the length's size class, or first page of a run
///     bit  63     set: tells it from the heap pointer that a string outside a segment holds
struct buffer_handle {
    std::uint64_t bits = 0;

    static constexpr std::uint64_t in_segment_bit = std::uint64_t{1} << 63;

    static constexpr buffer_handle make(slot_number slot, std::uint32_t length) noexcept {
        return {in_segment_bit | std::uint64_t{slot} << 32 | length};
    }
    [[nodiscard]] constexpr bool in_segment() const noexcept { return bits & in_segment_bit; }
    [[nodiscard]] constexpr std::uint32_t length() const noexcept {
        return static_cast<std::uint32_t>(bits);
    }
    [[nodiscard]] constexpr slot_number slot() const noexcept {
        return static_cast<slot_number>(bits >> 32) & 0x7FFF'FFFF;
    }
};

/// What shared_string, shared_bytes and shared_vector have in common: 8 bytes that refer to an
/// immutable buffer of up to 4 GiB - 1.
///
/// Within an object of a database the buffer lies in the segment; anywhere else the same type owns
/// heap memory. Assigning within a database requires the operation that creates or modifies the
/// object; it makes a new buffer, and the old one is freed when the operation completes. What
/// data() returns is valid until the object is assigned, removed or moved in memory.
///
/// Throws out_of_space_error when the segment cannot grow; the assignment then has no effect.
/// Thread-safety is that of the object it lies in.
class shared_buffer {
public:
    [[nodiscard]] std::size_t size() const noexcept {
        return handle_.in_segment() ? handle_.length() : heap_length();
    }
    [[nodiscard]] bool empty() const noexcept { return handle_.bits == 0; }
    [[nodiscard]] buffer_handle handle() const noexcept { return handle_; }

protected:
    shared_buffer() = default;
    explicit shared_buffer(std::span<const std::byte> content) { assign(content); }
    shared_buffer(const shared_buffer& other) : shared_buffer(other.content()) {}
    shared_buffer& operator=(const shared_buffer& other) {
        if (this != &other) assign(other.content());
        return *this;
    }
    ~shared_buffer() { release(); }

    [[nodiscard]] std::span<const std::byte> content() const noexcept { return {data(), size()}; }
    [[nodiscard]] const std::byte* data() const noexcept;
    void assign(std::span<const std::byte> content);

private:
    [[nodiscard]] std::size_t heap_length() const noexcept {
        std::uint32_t length = 0;
        if (handle_.bits != 0) std::memcpy(&length, heap(), sizeof length);
        return length;
    }
    [[nodiscard]] std::byte* heap() const noexcept {
        return reinterpret_cast<std::byte*>(handle_.bits);
    }
    void release() noexcept;

    buffer_handle handle_;
};
static_assert(sizeof(shared_buffer) == 8);

/// Text in shared memory; reads as a std::string_view.
class shared_string : public shared_buffer {
public:
    shared_string() = default;
    shared_string(std::string_view text) : shared_buffer(std::as_bytes(std::span(text))) {}
    shared_string& operator=(std::string_view text) {
        assign(std::as_bytes(std::span(text)));
        return *this;
    }
    [[nodiscard]] std::string_view view() const noexcept {
        return {reinterpret_cast<const char*>(shared_buffer::data()), size()};
    }
    operator std::string_view() const noexcept { return view(); }

    friend bool operator==(const shared_string& a, const shared_string& b) noexcept {
        return a.view() == b.view();
    }
    /// With text that is no shared_string: compared in place, not copied into one first.
    friend bool operator==(const shared_string& a, std::string_view b) noexcept {
        return a.view() == b;
    }
    friend auto operator<=>(const shared_string& a, const shared_string& b) noexcept {
        return a.view() <=> b.view();
    }
    friend auto operator<=>(const shared_string& a, std::string_view b) noexcept {
        return a.view() <=> b;
    }
};

/// An array of trivially copyable elements in shared memory; reads as a span.
template <typename T>
    requires std::is_trivially_copyable_v<T>
class shared_vector : public shared_buffer {
    static_assert(alignof(T) <= 16, "buffers are aligned to 16 bytes");

public:
    using value_type = T;

    shared_vector() = default;
    shared_vector(std::span<const T> elements) : shared_buffer(std::as_bytes(elements)) {}
    shared_vector& operator=(std::span<const T> elements) {
        assign(std::as_bytes(elements));
        return *this;
    }
    [[nodiscard]] std::size_t size() const noexcept { return shared_buffer::size() / sizeof(T); }
    [[nodiscard]] const T* data() const noexcept {
        return reinterpret_cast<const T*>(shared_buffer::data());
    }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }
    [[nodiscard]] const T* begin() const noexcept { return data(); }
    [[nodiscard]] const T* end() const noexcept { return data() + size(); }
    operator std::span<const T>() const noexcept { return {data(), size()}; }

    friend bool operator==(const shared_vector& a, const shared_vector& b) noexcept {
        return a.size() == b.size() &&
               (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
    }
};

/// Raw bytes in shared memory.
using shared_bytes = shared_vector<std::byte>;

} // namespace chainbase
