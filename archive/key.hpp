#pragma once

#include <archive/bytes.hpp>
#include <archive/detail/key_codec.hpp>

#include <concepts>

/// Keys whose bytes compare (memcmp, a prefix first) as the values do, alone and in sequence.
///
///     unsigned     big-endian                     bool, enum, id   as the number beneath
///     signed       big-endian, sign bit flipped   byte arrays      as they are
///     text         its bytes, each 0x00 as 0x00 0xff, then 0x00 0x01: orders as unsigned bytes do
///
///     descending   the value's key with every byte complemented
///
///     tuple, pair  one part after the other
///
/// No key of a type is a prefix of another one of the same type, so the order of a composite key is
/// that of its parts whatever text they hold, and the key of the leading parts is a prefix of all
/// keys that start with them. Floating point does not compile: it has no agreed order.
///
/// Example: make_key(author, descending(created)) finds an author's newest first.
/// All functions here may be called from any thread.
namespace chainbase::archive {

/// A value that orders backwards within a key.
template <typename Part>
struct descending {
    Part value;
    explicit descending(Part part) : value(std::move(part)) {}
};

/// What a key can be made of.
template <typename Part>
concept key_part =
    requires(byte_buffer& buffer, const Part& part) { detail::append_part(buffer, part); };

/// Appends the key of `parts`, first to last.
template <key_part... Parts>
void append_key(byte_buffer& buffer, const Parts&... parts) {
    (detail::append_part(buffer, parts), ...);
}

/// Returns the key of `parts`, first to last.
template <key_part... Parts>
[[nodiscard]] byte_buffer make_key(const Parts&... parts) {
    byte_buffer key;
    append_key(key, parts...);
    return key;
}

/// Whether `key` starts with `prefix`: where a scan from a key of leading parts ends.
[[nodiscard]] inline bool starts_with(bytes_view key, bytes_view prefix) noexcept {
    return as_text(key).starts_with(as_text(prefix));
}

} // namespace chainbase::archive
