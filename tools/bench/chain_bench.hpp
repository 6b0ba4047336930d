#pragma once

#include <CLI/CLI.hpp>

namespace chainbase::bench {

/// Effects: adds `chain` to the program; parsing a command line with it runs the bench and prints
/// the report. Throws while parsing: CLI::ParseError when the call is wrong, chainbase::error when
/// the work failed or two engines disagree about a state.
void add_chain_bench(CLI::App& program);

} // namespace chainbase::bench
