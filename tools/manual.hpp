#pragma once

#include <tools/program.hpp>

#include <string>

/// What users are told of a program's command line, made from the description that parses it: so
/// none of it can be out of date.
namespace chainbase {

/// A manual page of section 1, for man.
[[nodiscard]] std::string man_page_of(const program_description& program);

/// @name Completion of verbs and options; other words are completed as names of files
/// @{
[[nodiscard]] std::string bash_completion_of(const program_description& program);
[[nodiscard]] std::string zsh_completion_of(const program_description& program);
[[nodiscard]] std::string fish_completion_of(const program_description& program);
/// @}

/// Writes all of them into a folder: NAME.1, NAME.bash, _NAME, NAME.fish. Throws io_error.
void write_manual(const program_description& program, const std::string& folder);

} // namespace chainbase
