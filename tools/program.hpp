#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace chainbase {

/// Adds a tool's verbs. A verb that is called runs while the command line is parsed: it throws what
/// fails and leaves in `result` how it ended.
using add_verbs = std::function<void(CLI::App& program, exit_code& result)>;

/// Adds `--version`, which prints the name of the program and the version of the project. For who
/// describes a program without run_program(), which does it, too.
void add_version(CLI::App& program);

/// What every tool's main does: logs to stderr under the tool's name, runs the verb that the
/// command line names, and returns how it ended as the process is to. A usage_error is a wrong
/// call, any other exception a failure.
[[nodiscard]] int run_program(const char* name, const char* description, int argc, char** argv,
                              const add_verbs& add);

} // namespace chainbase
