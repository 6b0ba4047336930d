#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::inspect {

/// Adds the verb "repair": what is wrong with a state mended, as far as it can be.
void add_repair(CLI::App& program, exit_code& result);

} // namespace chainbase::inspect
