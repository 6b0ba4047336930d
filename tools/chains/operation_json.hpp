#pragma once

#include <tools/block_log/bytes.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

/// Operations for people and scripts: described structs as JSON, member by member. The same
/// description as the codec's, so that an operation that can be stored can be shown.
namespace chainbase {

namespace codec {

[[nodiscard]] std::string to_hex(byte_view raw);

/// The text, or {"hex": ...} when it is no UTF-8, which JSON could not carry unchanged.
[[nodiscard]] nlohmann::ordered_json text_to_json(std::string_view text);

} // namespace codec

/// Whether the operations of the chain that a block log names are known here.
[[nodiscard]] bool knows_operations_of(std::string_view chain) noexcept;

/// An operation of `chain` with its kind and members; {"hex": ...} when the chain is unknown.
/// Throws damaged_error with the byte offset when a known chain's operation does not decode.
[[nodiscard]] nlohmann::ordered_json operation_to_json(std::string_view chain, byte_view operation);

/// Throws the same for an operation that does not decode, and nothing for an unknown chain.
void require_operation(std::string_view chain, byte_view operation);

} // namespace chainbase
