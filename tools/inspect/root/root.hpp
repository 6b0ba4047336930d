#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::inspect {

/// root DIR [--verify] [--limit N] [--threads N] [--json]: the root of a state, what the tree below
/// it looks like, and whether it is that of the objects.
void add_root(CLI::App& program, exit_code& result);

} // namespace chainbase::inspect
