#pragma once

#include <tools/exit_code.hpp>
#include <tools/inspect/top/views.hpp>

#include <chrono>
#include <string>

namespace chainbase::inspect {

/// A sample as one line of JSON; README.md lists the members.
[[nodiscard]] std::string as_json_line(const std::string& state, const top_sample& sample,
                                       const lock_watch& locks);
/// The line in place of a sample that could not be taken.
[[nodiscard]] std::string as_json_line(const std::string& state, const std::string& failure);

} // namespace chainbase::inspect
