#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace chainbase::archive {

/// Bytes somebody else owns; the function that takes or returns them says for how long.
using bytes_view = std::span<const std::byte>;

/// Bytes owned by their holder.
using byte_buffer = std::vector<std::byte>;

[[nodiscard]] inline bytes_view as_bytes(std::string_view text) noexcept {
    return std::as_bytes(std::span(text.data(), text.size()));
}

[[nodiscard]] inline std::string_view as_text(bytes_view bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[nodiscard]] inline bool same(bytes_view a, bytes_view b) noexcept {
    return as_text(a) == as_text(b);
}

/// XXH3-64 of the bytes.
[[nodiscard]] std::uint64_t hash_of(bytes_view bytes, std::uint64_t seed = 0) noexcept;

inline void append(byte_buffer& buffer, bytes_view bytes) {
    buffer.insert(buffer.end(), bytes.begin(), bytes.end());
}

/// Orders as memcmp does, a prefix before what it is a prefix of: the order of encoded keys.
struct bytes_less {
    using is_transparent = void;
    bool operator()(bytes_view a, bytes_view b) const noexcept { return as_text(a) < as_text(b); }
};

} // namespace chainbase::archive
