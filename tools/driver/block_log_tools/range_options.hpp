#pragma once

#include <tools/driver/block_log_tools/block_range.hpp>
#include <tools/whole_number.hpp>

namespace chainbase::driver::block_log_tools {

/// --from and --to or --stop-at, whatever `last` is called.
inline void add_range(CLI::App& verb, block_range& range, const char* last) {
    verb.add_option("--from", range.first, "number of the first block")
        ->transform(whole_number(0, UINT64_MAX));
    verb.add_option(last, range.last, "number of the last block")
        ->transform(whole_number(0, UINT64_MAX));
}

} // namespace chainbase::driver::block_log_tools
