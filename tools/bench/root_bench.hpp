#pragma once

#include <CLI/CLI.hpp>

namespace chainbase::bench {

/// `chainbase-bench root`.
void add_root_bench(CLI::App& program);

} // namespace chainbase::bench
