#pragma once

#include <archive/bytes.hpp>
#include <chainbase/rows/key_reader.hpp>

#include <optional>

namespace chainbase::archive::detail {

/// The bytes with which the keys of a store begin (key.hpp) that a probe looks for; nothing when
/// one of its parts has none. Those of a key that is not unique go on with the id.
[[nodiscard]] std::optional<byte_buffer> key_of(const rows::probe& wanted);

} // namespace chainbase::archive::detail
