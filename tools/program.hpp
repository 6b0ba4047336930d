#pragma once

#include <tools/command_line.hpp>

#include <filesystem>
#include <span>

namespace chainbase {

/// A program's name, verbs, and what it does without a verb.
struct program_description {
    const char* name;
    const char* description;
    std::span<const verb_entry> verbs;
    /// Called with the only argument, when that is no verb but a folder, or else without arguments
    /// with the working folder; null: a verb is required.
    exit_code (*without_verb)(const std::filesystem::path& folder) = nullptr;
};

/// The main function of every tool: logs to stderr under the tool's name, runs the verb that the
/// command line names, and returns the process's exit code. A usage_error is a wrong call, any
/// other exception a failure. A word that is no verb or option is answered with the nearest one.
/// Every program has the options `--version` and `--write-manual FOLDER`, which writes the manual
/// page and the shell completions (manual.hpp).
[[nodiscard]] int run_program(const program_description& program, int argc, char** argv);

} // namespace chainbase
