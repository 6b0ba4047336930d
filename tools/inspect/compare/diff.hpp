#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::inspect {

/// Adds the verb `diff A B`: what two states do not have in common. `result` becomes `different`
/// when there is anything.
void add_diff(CLI::App& program, exit_code& result);

} // namespace chainbase::inspect
