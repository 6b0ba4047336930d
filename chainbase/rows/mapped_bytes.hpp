#pragma once

#include <pool_allocator/window.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace chainbase::rows {

/// A copy of what lies at an address: what is looked at may be aligned in any way.
template <typename T>
[[nodiscard]] T copy_at(const std::byte* from) noexcept {
    T copy;
    std::memcpy(&copy, from, sizeof copy);
    return copy;
}

/// How many bytes of a window there are to be read: its file may be longer.
[[nodiscard]] inline std::size_t readable(const window& file) noexcept {
    return file.bytes() < file.limit() ? file.bytes() : file.limit();
}

/// The integer in the first `bytes` (1, 2, 4 or 8) of `from`, as the program's converted to 64
/// bits.
[[nodiscard]] inline std::uint64_t integer_at(const std::byte* from, std::uint32_t bytes,
                                              bool is_signed) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, from, bytes);
    const unsigned shift = 64 - 8 * bytes;
    return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << shift) >> shift)
                     : bits;
}

} // namespace chainbase::rows
