#pragma once

#include <pool_allocator/error.hpp>
#include <tools/block_log/block_log_reader.hpp>
#include <tools/driver/block_log_tools/block_range.hpp>

namespace chainbase::driver {

/// The error of a range in which no block of the log lies, naming those that there are.
[[nodiscard]] usage_error no_block_in(const block_log_reader& log, const block_range& range);

} // namespace chainbase::driver
