#pragma once

#include <tools/command_line.hpp>
#include <tools/driver/block_log_tools/block_range.hpp>

namespace chainbase::driver::block_log_tools {

/// --from and --stop-at, as everywhere; --to is what a verb makes.
inline void add_range(command& verb, block_range& range) {
    verb.add_option("--from", range.first, "number of the first block").whole_number(0, UINT64_MAX);
    verb.add_option("--stop-at", range.last, "number of the last block")
        .whole_number(0, UINT64_MAX);
}

} // namespace chainbase::driver::block_log_tools
