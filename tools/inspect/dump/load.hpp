#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::inspect {

/// Adds the verb "load": a state from a dump.
void add_load(CLI::App& program, exit_code& result);

} // namespace chainbase::inspect
