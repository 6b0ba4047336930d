#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::inspect {

/// @name What chainbase-inspect is called and says of itself
/// @{
inline constexpr const char* program_name = "chainbase-inspect";
inline constexpr const char* program_description =
    "Looks at a state, running or not, without the program that wrote it";
/// @}

/// Adds every verb of chainbase-inspect. `result` is set by the one that is called.
void add_all_verbs(CLI::App& program, exit_code& result);

} // namespace chainbase::inspect
