#pragma once

#include <pool_allocator/size_classes.hpp>
#include <pool_allocator/window.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace chainbase::rows {

/// A copy of the value at an address, which need not be aligned.
template <typename T>
[[nodiscard]] T copy_at(const std::byte* from) noexcept {
    T copy;
    std::memcpy(&copy, from, sizeof copy);
    return copy;
}

/// How many bytes of a window can be read: its file may be longer.
[[nodiscard]] inline std::size_t readable(const window& file) noexcept {
    return file.bytes() < file.limit() ? file.bytes() : file.limit();
}

/// The integer in the first `bytes` (1, 2, 4 or 8) of `from`, converted to 64 bits.
[[nodiscard]] inline std::uint64_t integer_at(const std::byte* from, std::uint32_t bytes,
                                              bool is_signed) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, from, bytes);
    const unsigned shift = 64 - 8 * bytes;
    return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << shift) >> shift)
                     : bits;
}

/// Finds the content of texts and vectors.
class buffer_source {
public:
    virtual ~buffer_source() = default;

    /// The content that a handle refers to; nothing for an impossible handle.
    [[nodiscard]] virtual std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const = 0;
};

/// The buffers of a segment whose windows are mapped. A handle is only checked to lie within its
/// file, not whether its slot is in use (check::buffer_check does that).
class segment_buffers final : public buffer_source {
public:
    /// The classes and the runs, in order; null where a file could not be opened. They outlive it.
    using files = std::array<const window*, size_classes::window_count>;

    explicit segment_buffers(const files& from) noexcept : files_(from) {}

    [[nodiscard]] std::optional<std::span<const std::byte>>
    content(buffer_handle handle) const override {
        if (handle.bits == 0) return std::span<const std::byte>();
        if (!handle.in_segment() || handle.length() == 0) return std::nullopt;
        const std::size_t length = handle.length();
        const bool is_run = length > size_classes::largest_class;
        const std::size_t number =
            is_run ? size_classes::class_count : size_classes::class_of(length);
        const std::size_t first = is_run ? 0 : window_header::page_bytes;
        const std::size_t slot_bytes =
            is_run ? page_runs::page_bytes : size_classes::bytes_of_class(number);
        const window* const file = files_[number];
        const std::size_t at = first + handle.slot() * slot_bytes;
        if (!file || at > readable(*file) || readable(*file) - at < length) return std::nullopt;
        return std::span(file->base() + at, length);
    }

private:
    files files_;
};

} // namespace chainbase::rows
