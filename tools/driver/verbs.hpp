#pragma once

#include <tools/driver/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::driver {

/// Each adds its verb to the program. When it was called it runs within `program.parse`, throws
/// what fails, and leaves in `result` how it ended.
void add_import_verb(CLI::App& program, exit_code& result);
void add_replay_verb(CLI::App& program, exit_code& result);

} // namespace chainbase::driver
