#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::inspect {

/// Adds the verbs `range DIR TYPE [KEY [PART...]]`: objects in the order of a key, and `count` of
/// the same.
void add_range(CLI::App& program, exit_code& result);
void add_count(CLI::App& program, exit_code& result);

} // namespace chainbase::inspect
