#pragma once

#include <tools/program.hpp>

#include <string>

/// Documentation of a program's command line, made from the description that parses it, so it
/// cannot be out of date.
namespace chainbase {

/// Declares a verb with its own options and those that all verbs have.
void declare(const verb_entry& from, command& verb);

/// The exit codes of every program, a line each.
[[nodiscard]] std::string exit_codes_text();

/// A manual page of section 1, for man.
[[nodiscard]] std::string man_page_of(const program_description& program);

/// @name Completion of verbs and options; other words are completed as file names
/// @{
[[nodiscard]] std::string bash_completion_of(const program_description& program);
[[nodiscard]] std::string zsh_completion_of(const program_description& program);
[[nodiscard]] std::string fish_completion_of(const program_description& program);
/// @}

/// Writes all of them to a folder: NAME.1, NAME.bash, _NAME, NAME.fish. Throws io_error.
void write_manual(const program_description& program, const std::string& folder);

} // namespace chainbase
