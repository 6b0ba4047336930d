#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::inspect {

/// Adds the verb `get DIR TYPE KEY PART...`: the objects that have a key. `result` becomes `failed`
/// when there is none.
void add_get(CLI::App& program, exit_code& result);

} // namespace chainbase::inspect
