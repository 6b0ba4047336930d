#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <utility>
#include <vector>

/// What users are told of a program's command line, made from the description that parses it: so
/// none of it can be out of date.
namespace chainbase {

/// What a manual page has besides verbs and options.
struct manual_notes {
    std::string version;                                       ///< "chainbase 0.1.0"
    std::string date;                                          ///< "2026-01-31"
    std::vector<std::pair<int, std::string>> exit_codes;       ///< and what each means
    std::vector<std::pair<std::string, std::string>> examples; ///< a command and what it is for
};

/// A manual page of section 1, for man.
[[nodiscard]] std::string man_page_of(const CLI::App& program, const manual_notes& notes);

/// @name Completion of verbs and options; other words are completed as names of files
/// @{
[[nodiscard]] std::string bash_completion_of(const CLI::App& program);
[[nodiscard]] std::string zsh_completion_of(const CLI::App& program);
[[nodiscard]] std::string fish_completion_of(const CLI::App& program);
/// @}

} // namespace chainbase
