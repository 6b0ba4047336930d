#pragma once

#include <string>

namespace chainbase {

/// Where to listen or to connect to: "127.0.0.1:4000", "[::1]:0", "node.example:4000", or ":4000"
/// for the loopback.
struct endpoint_name {
    std::string host; ///< without brackets
    std::string port; ///< up to 65535
};

/// Throws usage_error when the text is no endpoint.
[[nodiscard]] endpoint_name parse_endpoint(const std::string& text);

/// The form that parse_endpoint reads.
[[nodiscard]] std::string in_words(const endpoint_name& name);

} // namespace chainbase
