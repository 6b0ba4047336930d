#pragma once

#include <tools/exit_code.hpp>

#include <string>
#include <vector>

namespace chainbase::inspect {

/// What `dump --rescue` does: writes what a damaged state still holds as a dump, to `output`, or to
/// stdout if that is empty. The last line lists by type which ids are `lost` and which `doubtful`.
/// Only these types, if some are named. Returns damaged when something is lost. Throws what opening
/// the state for a check throws, usage_error, io_error.
[[nodiscard]] exit_code rescue_to(const std::string& output, const std::string& state,
                                  const std::vector<std::string>& types);

} // namespace chainbase::inspect
