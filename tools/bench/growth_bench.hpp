#pragma once

#include <CLI/CLI.hpp>

namespace chainbase::bench {

/// Effects: adds `growth` to the program; parsing a command line with it runs the bench and prints
/// the report. Throws as add_chain_bench.
void add_growth_bench(CLI::App& program);

} // namespace chainbase::bench
