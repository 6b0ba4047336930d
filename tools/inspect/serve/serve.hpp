#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::inspect {

/// Adds the verb `serve DIR [--listen HOST:PORT] [--token-file FILE] [--json]`: a state as a local
/// web page, until a signal.
void add_serve(CLI::App& program, exit_code& result);

} // namespace chainbase::inspect
