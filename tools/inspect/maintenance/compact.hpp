#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::inspect {

/// Adds the verb "compact": the segment of a state made anew, without what is free in it.
void add_compact(CLI::App& program, exit_code& result);

} // namespace chainbase::inspect
