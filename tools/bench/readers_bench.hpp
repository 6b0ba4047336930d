#pragma once

#include <CLI/CLI.hpp>

namespace chainbase::bench {

/// Effects: adds `readers` to the program, as add_account_bench adds `account`.
void add_readers_bench(CLI::App& program);

} // namespace chainbase::bench
