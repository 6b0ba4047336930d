#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace chainbase::driver {

/// A report as one line. A chain may be called what is no UTF-8: that is shown, not refused.
[[nodiscard]] inline std::string json_line(const nlohmann::ordered_json& report) {
    return report.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace chainbase::driver
