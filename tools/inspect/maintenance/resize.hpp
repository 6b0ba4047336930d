#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::inspect {

/// Adds the verb "resize": how far a state can grow.
void add_resize(CLI::App& program, exit_code& result);

} // namespace chainbase::inspect
