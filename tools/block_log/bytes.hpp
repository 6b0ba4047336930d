#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace chainbase {

/// Owned bytes, such as one encoded operation.
using bytes = std::vector<std::byte>;

/// Bytes owned by someone else.
using byte_view = std::span<const std::byte>;

/// The bytes of `text`; valid as long as the text.
[[nodiscard]] inline byte_view bytes_of(std::string_view text) noexcept {
    return std::as_bytes(std::span(text));
}

/// `view` read as text; valid as long as the bytes.
[[nodiscard]] inline std::string_view text_of(byte_view view) noexcept {
    return {reinterpret_cast<const char*>(view.data()), view.size()};
}

/// The T whose bytes begin at `position`. Requires all of them to be there.
template <class T>
    requires std::is_trivially_copyable_v<T>
[[nodiscard]] T load(byte_view from, std::size_t position = 0) noexcept {
    T result;
    std::memcpy(&result, from.data() + position, sizeof(T));
    return result;
}

} // namespace chainbase
