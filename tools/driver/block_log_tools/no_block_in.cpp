#include <tools/driver/block_log_tools/no_block_in.hpp>

#include <fmt/format.h>

namespace chainbase::driver {

usage_error no_block_in(const block_log_reader& log, const block_range& range) {
    const std::string name = log.path().string();
    if (log.empty()) return usage_error(name + ": holds no block; name another log");
    const std::string wanted = range.last == UINT64_MAX
                                   ? fmt::format("from {} on", range.first)
                                   : fmt::format("from {} to {}", range.first, range.last);
    return usage_error(fmt::format("{}: holds blocks {} to {}, and none {}; name another range",
                                   name, *log.first_number(), *log.head_number(), wanted));
}

} // namespace chainbase::driver
