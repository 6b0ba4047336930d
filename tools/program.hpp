#pragma once

#include <tools/command_line.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace chainbase {

/// A program's name, verbs, and further texts of its manual.
struct program_description {
    const char* name;
    const char* description;
    std::span<const verb_entry> verbs;
    std::vector<std::pair<std::string, std::string>> examples; ///< a command and what it is for
};

/// The main function of every tool: logs to stderr under the tool's name, runs the verb that the
/// command line names, and returns the process's exit code. A usage_error is a wrong call, any
/// other exception a failure. Every program has the options `--version` and `--write-manual
/// FOLDER`, which writes the manual page and the shell completions (manual.hpp).
[[nodiscard]] int run_program(const program_description& program, int argc, char** argv);

} // namespace chainbase
