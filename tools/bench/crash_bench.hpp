#pragma once

#include <CLI/CLI.hpp>

namespace chainbase::bench {

/// Effects: adds `crash` to the program, as add_account_bench adds `account`.
void add_crash_bench(CLI::App& program);

} // namespace chainbase::bench
