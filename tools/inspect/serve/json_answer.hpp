#pragma once

#include <tools/http/http_server.hpp>

#include <string>

namespace chainbase::inspect {

/// An answer of one JSON object, as its text.
[[nodiscard]] http_answer json_answer(std::string object, unsigned status = 200);

/// `{"schema_version":1,"error":message}`.
[[nodiscard]] http_answer json_error(unsigned status, const std::string& message);

} // namespace chainbase::inspect
