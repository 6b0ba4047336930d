#pragma once

#include <archive/write_batch.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace chainbase::archive::detail {

/// A row as engines keep it: the record, and behind it the keys that lead to it, so that replacing
/// or erasing the row takes its old keys away.
///
///     row     := record:byte*  key:byte*...  trailer
///     trailer := { index:u16 length:u16 }...  count:u16        one entry per key, little-endian
///
/// Writes the row to `to`, where it takes row_size() bytes.
void join_row(std::byte* to, bytes_view record, std::span<const secondary_key> keys) noexcept;
[[nodiscard]] std::size_t row_size(bytes_view record, std::span<const secondary_key> keys) noexcept;

/// Returns the record within a stored row, none when the row is malformed.
[[nodiscard]] std::optional<bytes_view> record_of(bytes_view row) noexcept;

/// Returns the keys within a stored row (views into it), none when the row is malformed.
[[nodiscard]] std::optional<std::vector<secondary_key>> keys_of(bytes_view row);

/// Whether `key` leads to the stored row; false when the row is malformed.
[[nodiscard]] bool has_key(bytes_view row, const secondary_key& key) noexcept;

/// A key for a message: printable characters as they are, others as \xx, cut after 64 bytes.
[[nodiscard]] std::string printable(bytes_view key);

} // namespace chainbase::archive::detail
