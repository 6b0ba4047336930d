#pragma once

#include <pool_allocator/buffer_layout.hpp>
#include <pool_allocator/fwd.hpp>

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace chainbase {

/// The handle of an immutable buffer in the segment: 8 bytes, all zero for "empty".
///
///     bits  0-31  length in bytes
///     bits 32-62  slot within the pool of the length's size class, or first page of a run
///     bit  63     set: distinguishes it from the heap pointer of a string outside a segment
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
/// heap memory. Changing one within a database requires the operation that creates or modifies the
/// object; it makes a new buffer, and the old one is freed when the operation completes. The result
/// of data() is valid until the buffer is changed, or its object is removed or moved in memory.
///
/// A buffer may hold buffers: a vector of strings, or of structs that contain strings. It owns
/// them, and they live where it does, in the segment or on the heap.
///
/// Every change throws out_of_space_error when the segment cannot grow, limit_error at 4 GiB,
/// usage_error outside of an operation, std::bad_alloc; it then has no effect.
/// Thread-safety is that of the object it lies in.
class shared_buffer {
public:
    [[nodiscard]] std::size_t size() const noexcept {
        return handle_.in_segment() ? handle_.length() : heap_length();
    }
    [[nodiscard]] bool empty() const noexcept { return handle_.bits == 0; }
    [[nodiscard]] buffer_handle handle() const noexcept { return handle_; }

    /// Reads the present or former content of a handle in a segment.
    using reader = std::function<std::vector<std::byte>(buffer_handle)>;
    /// Copies the buffer that `from` refers to in a segment to the heap. Throws what `read` throws,
    /// and std::bad_alloc.
    [[nodiscard]] static buffer_handle
    heap_copy_of(buffer_handle from, const buffer_layout& elements, const reader& read);
    /// Frees what `handle` owns on the heap; in a segment an operation does that.
    static void release(buffer_handle handle, const buffer_layout& elements) noexcept;

protected:
    shared_buffer() = default;
    shared_buffer(const shared_buffer&) noexcept {} // a derived class copies the content
    shared_buffer& operator=(const shared_buffer&) noexcept { return *this; }
    ~shared_buffer() = default; // a derived class releases the content

    [[nodiscard]] std::span<const std::byte> content() const noexcept { return {data(), size()}; }
    [[nodiscard]] const std::byte* data() const noexcept;
    void assign(std::span<const std::byte> content, const buffer_layout& elements) {
        splice(0, size(), content, elements);
    }
    /// Replaces `removed` bytes at `at` by copies of the elements in `added`, which may be elements
    /// of this one. Throws usage_error, too, when there are no such bytes.
    void splice(std::size_t at, std::size_t removed, std::span<const std::byte> added,
                const buffer_layout& elements);
    void release(const buffer_layout& elements) noexcept { release(handle_, elements); }

private:
    class splicing;

    static void release_all(std::span<const std::byte> values, const buffer_layout& of) noexcept;

    [[nodiscard]] std::size_t heap_length() const noexcept {
        std::uint32_t length = 0;
        if (handle_.bits != 0) std::memcpy(&length, heap(), sizeof length);
        return length;
    }
    [[nodiscard]] std::byte* heap() const noexcept {
        return reinterpret_cast<std::byte*>(handle_.bits);
    }

    buffer_handle handle_;
};
static_assert(sizeof(shared_buffer) == 8);

class shared_string;

namespace detail {

template <typename Text>
concept text_for_shared =
    !std::derived_from<Text, shared_string> && std::convertible_to<const Text&, std::string_view>;

} // namespace detail

/// Text in shared memory; reads as a std::string_view.
class shared_string : public shared_buffer {
public:
    using value_type = char;

    shared_string() = default;
    shared_string(const shared_string& other) : shared_string(other.view()) {}
    template <typename Text>
        requires detail::text_for_shared<Text>
    shared_string(const Text& text) {
        assign(std::string_view(text));
    }
    ~shared_string() { release(flat); }
    shared_string& operator=(const shared_string& other) {
        if (this != &other) assign(other.view());
        return *this;
    }
    template <typename Text>
        requires detail::text_for_shared<Text>
    shared_string& operator=(const Text& text) {
        assign(std::string_view(text));
        return *this;
    }
    void clear() { assign(std::string_view()); }

    [[nodiscard]] std::string_view view() const noexcept {
        return {reinterpret_cast<const char*>(shared_buffer::data()), size()};
    }
    operator std::string_view() const noexcept { return view(); }

    friend bool operator==(const shared_string& a, const shared_string& b) noexcept {
        return a.view() == b.view();
    }
    /// With any other text: compared in place, not copied into a shared_string first.
    template <typename Text>
        requires detail::text_for_shared<Text>
    friend bool operator==(const shared_string& a, const Text& b) noexcept {
        return a.view() == std::string_view(b);
    }
    friend auto operator<=>(const shared_string& a, const shared_string& b) noexcept {
        return a.view() <=> b.view();
    }
    template <typename Text>
        requires detail::text_for_shared<Text>
    friend auto operator<=>(const shared_string& a, const Text& b) noexcept {
        return a.view() <=> std::string_view(b);
    }

private:
    static constexpr buffer_layout flat{};

    void assign(std::string_view text) {
        shared_buffer::assign(std::as_bytes(std::span(text)), flat);
    }
};

namespace detail {

/// A range from whose elements those of a vector of T are made.
template <typename Range, typename T>
concept elements_for = std::ranges::input_range<Range> &&
                       std::constructible_from<T, std::ranges::range_reference_t<Range>>;

} // namespace detail

/// An array in shared memory: of trivially copyable elements without pointers, of shared buffers,
/// or of described structs of these. Reads as a span. Its elements cannot be changed in place: each
/// call that changes it copies the array, so many elements are added fastest as one range.
template <typename T>
class shared_vector : public shared_buffer {
    static_assert(detail::is_shareable<T>(),
                  "an element of a shared_vector is trivially copyable and no pointer or view, a "
                  "shared_string, shared_bytes or shared_vector, or a struct described whole with "
                  "BOOST_DESCRIBE_STRUCT whose members are of these");
    static_assert(alignof(T) <= 16, "buffers are aligned to 16 bytes");

public:
    using value_type = T;
    using size_type = std::size_t;
    using const_iterator = const T*;
    using iterator = const_iterator;

    shared_vector() = default;
    shared_vector(const shared_vector& other) : shared_buffer() {
        shared_buffer::assign(other.content(), elements);
    }
    shared_vector(std::initializer_list<T> elements) { assign(elements); }
    template <typename Range>
        requires(!std::derived_from<std::remove_cvref_t<Range>, shared_vector>) &&
                detail::elements_for<Range, T>
    shared_vector(Range&& range) {
        assign(range);
    }
    ~shared_vector() { release(elements); }
    shared_vector& operator=(const shared_vector& other) {
        if (this != &other) shared_buffer::assign(other.content(), elements);
        return *this;
    }
    shared_vector& operator=(std::initializer_list<T> elements) {
        assign(elements);
        return *this;
    }
    template <typename Range>
        requires(!std::derived_from<std::remove_cvref_t<Range>, shared_vector>) &&
                detail::elements_for<Range, T>
    shared_vector& operator=(Range&& range) {
        assign(range);
        return *this;
    }

    [[nodiscard]] std::size_t size() const noexcept { return shared_buffer::size() / sizeof(T); }
    [[nodiscard]] const T* data() const noexcept {
        return reinterpret_cast<const T*>(shared_buffer::data());
    }
    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data()[i]; }
    [[nodiscard]] const T& front() const noexcept { return data()[0]; }
    [[nodiscard]] const T& back() const noexcept { return data()[size() - 1]; }
    [[nodiscard]] const T* begin() const noexcept { return data(); }
    [[nodiscard]] const T* end() const noexcept { return data() + size(); }
    operator std::span<const T>() const noexcept { return {data(), size()}; }

    /// @name Changes
    /// As those of std::vector; positions are iterators of this one or, in set(), numbers.
    /// @{
    void assign(std::initializer_list<T> elements) {
        replace(0, size(), std::as_bytes(std::span(elements.begin(), elements.size())));
    }
    template <typename Range>
        requires detail::elements_for<Range, T>
    void assign(Range&& range) {
        insert_range(0, size(), range);
    }
    template <std::input_iterator First, std::sentinel_for<First> Last>
    void assign(First first, Last last) {
        assign(std::ranges::subrange(first, last));
    }
    void push_back(const T& element) { replace(size(), 0, bytes_of(element)); }
    template <typename... A>
        requires std::constructible_from<T, A...>
    const T& emplace_back(A&&... from) {
        const T element(std::forward<A>(from)...);
        push_back(element);
        return back();
    }
    void pop_back() { replace(size() - 1, 1, {}); }
    const T* insert(const T* before, const T& element) {
        const std::size_t at = position(before);
        replace(at, 0, bytes_of(element));
        return begin() + at;
    }
    template <typename Range>
        requires detail::elements_for<Range, T>
    const T* insert_range(const T* before, Range&& range) {
        const std::size_t at = position(before);
        insert_range(at, 0, range);
        return begin() + at;
    }
    const T* erase(const T* at) { return erase(at, at + 1); }
    const T* erase(const T* first, const T* last) {
        const std::size_t at = position(first);
        replace(at, static_cast<std::size_t>(last - first), {});
        return begin() + at;
    }
    void set(std::size_t number, const T& element) { replace(number, 1, bytes_of(element)); }
    void clear() { replace(0, size(), {}); }
    /// @}

    friend bool operator==(const shared_vector& a, const shared_vector& b) noexcept {
        if constexpr (std::equality_comparable<T> && !std::is_arithmetic_v<T>)
            return std::ranges::equal(a, b);
        static_assert(std::equality_comparable<T> || std::is_trivially_copyable_v<T>,
                      "an element of a shared_vector that is compared has an operator==");
        return a.size() == b.size() &&
               (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
    }
    friend auto operator<=>(const shared_vector& a, const shared_vector& b) noexcept
        requires std::three_way_comparable<T>
    {
        return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    static constexpr const buffer_layout& elements = buffer_layout_of<T>;

    static std::span<const std::byte> bytes_of(const T& element) noexcept {
        return std::as_bytes(std::span(&element, 1));
    }
    [[nodiscard]] std::size_t position(const T* at) const noexcept {
        return static_cast<std::size_t>(at - data());
    }
    void replace(std::size_t at, std::size_t removed, std::span<const std::byte> added) {
        splice(at * sizeof(T), removed * sizeof(T), added, elements);
    }
    template <typename Range>
    void insert_range(std::size_t at, std::size_t removed, Range& range) {
        if constexpr (std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
                      std::is_same_v<std::ranges::range_value_t<Range>, T>) {
            replace(at, removed,
                    std::as_bytes(std::span(std::ranges::data(range), std::ranges::size(range))));
        } else {
            // std::vector<bool> has no bytes to copy.
            std::vector<std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>> all;
            for (auto&& element : range)
                all.emplace_back(T(std::forward<decltype(element)>(element)));
            replace(at, removed, std::as_bytes(std::span(all)));
        }
    }
};

/// Raw bytes in shared memory.
using shared_bytes = shared_vector<std::byte>;

} // namespace chainbase
