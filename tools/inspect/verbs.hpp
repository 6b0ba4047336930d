#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

#include <string_view>

namespace chainbase::inspect {

/// @name What chainbase-inspect is called and says of itself
/// @{
inline constexpr const char* program_name = "chainbase-inspect";
inline constexpr const char* program_description =
    "Looks at a state, running or not, without the program that wrote it";
/// @}

/// Adds every verb of chainbase-inspect. `result` is set by the one that is called.
void add_all_verbs(CLI::App& program, exit_code& result);

/// Adds the verb that is called `name`, or every one when none is: a command line that begins with
/// a verb needs no description of the others, which takes longer than a short verb works.
void add_verb(CLI::App& program, exit_code& result, std::string_view name);

} // namespace chainbase::inspect
