#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace chainbase::bench {

/// A block log and where the modes of the chain bench divide it.
struct chain_log {
    std::filesystem::path path;
    std::string chain;
    std::uint64_t blocks = 0;
    std::uint64_t transactions = 0;
    std::uint64_t operations = 0;

    std::uint64_t live_from = 0;       ///< number of the first block that is applied live
    std::uint64_t live_blocks = 0;     ///< how many are
    std::uint64_t rest_blocks = 0;     ///< behind them: what is pending last comes from these
    std::uint64_t sync_operations = 0; ///< of the blocks before live_from
};

/// Reads the whole log once. Live are the last `live_blocks` that have at least `pending`
/// transactions behind them; fewer when the log is short, at most half of it.
///
/// Throws what reading a log throws, usage_error when it is empty or of no known chain.
[[nodiscard]] chain_log survey(const std::filesystem::path& path, std::uint64_t live_blocks,
                               std::uint64_t pending);

} // namespace chainbase::bench
