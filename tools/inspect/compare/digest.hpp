#pragma once

#include <tools/exit_code.hpp>

#include <CLI/CLI.hpp>

namespace chainbase::inspect {

/// `digest`: what a state means, as one number (class content_digest).
void add_digest(CLI::App& program, exit_code& result);

} // namespace chainbase::inspect
