#pragma once

#include <tools/exit_code.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace chainbase::inspect {

/// How `stat --watch` was called.
struct watch_options {
    std::string state;
    std::chrono::seconds pause{1};
    std::uint64_t samples = 0; ///< after which it ends; 0: at a signal only
    bool json = false;
};

/// Prints the report of `stat` with the growth per minute again and again: redrawn in place on a
/// terminal, otherwise one JSON object a line. Ends at a signal or after the last sample, as the
/// last report says. Throws what reading the state and printing throw.
[[nodiscard]] exit_code watch_state(const watch_options& asked);

} // namespace chainbase::inspect
