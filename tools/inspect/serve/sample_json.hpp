#pragma once

#include <tools/inspect/memory/live_sample.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace chainbase::inspect {

/// A sample for charts; README.md lists the members. Bytes of memory are those that the file system
/// holds. `rates`: since the sample before, if there is one.
[[nodiscard]] nlohmann::ordered_json to_json(const live_sample& sample,
                                             const std::optional<live_rates>& rates,
                                             const state_growth& growth);

/// Unix seconds.
[[nodiscard]] double unix_seconds(std::chrono::system_clock::time_point when);

} // namespace chainbase::inspect
