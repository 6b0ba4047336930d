#pragma once

#include <CLI/CLI.hpp>

namespace chainbase::bench {

/// Effects: adds `archive` to the program, as add_account_bench adds `account`.
void add_archive_bench(CLI::App& program);

} // namespace chainbase::bench
