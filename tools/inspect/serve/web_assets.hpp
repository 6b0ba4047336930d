#pragma once

#include <tools/http/http_server.hpp>

#include <optional>
#include <string_view>

namespace chainbase::inspect {

/// A file of the web page, which is part of the program; nothing if there is none at this path.
[[nodiscard]] std::optional<http_answer> web_asset(std::string_view path);

} // namespace chainbase::inspect
