#pragma once

#include <tools/driver/block_log_tools/record_walk.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace chainbase::driver {

/// Stretches that are lost, for the reports of verify and salvage.
[[nodiscard]] nlohmann::ordered_json to_json(const lost_stretch& lost);
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<lost_stretch>& all);
[[nodiscard]] std::string to_text(const lost_stretch& lost);

} // namespace chainbase::driver
