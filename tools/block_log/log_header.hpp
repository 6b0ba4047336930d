#pragma once

#include <tools/block_log/file.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace chainbase {

/// What the first 64 bytes of a block log say.
struct log_header {
    /// The chain and data set the blocks come from, such as "steem-2016".
    std::string chain;
    /// Ties an index to its log.
    std::uint64_t checksum = 0;
};

/// The header as bytes. Throws usage_error unless `chain` has 1 to 32 bytes, none of them zero.
[[nodiscard]] bytes encode_log_header(std::string_view chain);

/// Reads and verifies a log's header. Throws format_error when the file is no block log, has
/// another format version, or belongs to another chain than `expected_chain` (empty: any);
/// damaged_error when it was one and its header is cut or altered.
[[nodiscard]] log_header read_log_header(const file& log, std::string_view expected_chain);

} // namespace chainbase
