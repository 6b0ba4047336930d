#pragma once

#include <tools/command_line.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace chainbase {

/// A program: what it is called, its verbs, and what its manual says beside them.
struct program_description {
    const char* name;
    const char* description;
    std::span<const verb_entry> verbs;
    std::vector<std::pair<std::string, std::string>> examples; ///< a command and what it is for
};

/// What every tool's main does: logs to stderr under the tool's name, runs the verb that the
/// command line names, and returns how it ended as the process is to. A usage_error is a wrong
/// call, any other exception a failure. Two options are every program's: `--version`, and
/// `--write-manual FOLDER`, which writes the manual page and the completions of shells
/// (manual.hpp).
[[nodiscard]] int run_program(const program_description& program, int argc, char** argv);

} // namespace chainbase
