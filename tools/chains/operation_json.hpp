#pragma once

#include <tools/block_log/bytes.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

/// Operations as JSON for people and scripts: described structs, member by member. Uses the codec's
/// description, so every operation that can be stored can be printed.
namespace chainbase {

namespace codec {

[[nodiscard]] std::string to_hex(byte_view raw);

/// The text, or {"hex": ...} for invalid UTF-8, which JSON cannot carry unchanged.
[[nodiscard]] nlohmann::ordered_json text_to_json(std::string_view text);

} // namespace codec

/// Whether the operations of the named chain are known.
[[nodiscard]] bool knows_operations_of(std::string_view chain) noexcept;

/// An operation of `chain` with its kind and members; {"hex": ...} when the chain is unknown.
/// Throws damaged_error with the byte offset when a known chain's operation does not decode.
[[nodiscard]] nlohmann::ordered_json operation_to_json(std::string_view chain, byte_view operation);

/// Throws damaged_error for an operation that does not decode; does nothing for an unknown chain.
void require_operation(std::string_view chain, byte_view operation);

} // namespace chainbase
