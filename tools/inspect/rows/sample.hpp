#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::inspect {

/// Adds the verb `sample DIR TYPE`: some objects, each as likely as any other.
void add_sample(CLI::App& program, exit_code& result);

} // namespace chainbase::inspect
