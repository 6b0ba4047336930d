#pragma once

#include <tools/driver/block_log_tools/block_range.hpp>
#include <tools/whole_number.hpp>

namespace chainbase::driver::block_log_tools {

/// --from and --stop-at, as everywhere; --to is what a verb makes.
inline void add_range(CLI::App& verb, block_range& range) {
    verb.add_option("--from", range.first, "number of the first block")
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option("--stop-at", range.last, "number of the last block")
        ->transform(whole_number(0, UINT64_MAX));
}

} // namespace chainbase::driver::block_log_tools
