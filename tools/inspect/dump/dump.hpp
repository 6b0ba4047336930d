#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::inspect {

/// Adds the verb `dump DIR [TYPE...] [--output FILE [--resume]]`: all objects in memory as JSON
/// lines, the types by name and the objects by id (README.md).
void add_dump(CLI::App& program, exit_code& result);

} // namespace chainbase::inspect
