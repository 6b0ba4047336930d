#pragma once

#include <CLI/CLI.hpp>

namespace chainbase::bench {

/// Effects: adds `account` to the program; parsing a command line with it runs the bench and prints
/// the report. Throws while parsing: CLI::ParseError when the call is wrong, chainbase::error and
/// what the engines throw when the work failed.
void add_account_bench(CLI::App& program);

} // namespace chainbase::bench
