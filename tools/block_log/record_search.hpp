#pragma once

#include <tools/block_log/log_record.hpp>

#include <cstdint>
#include <functional>
#include <optional>

namespace chainbase {

/// Told now and then how far something long is, in bytes done and in all; may throw to end it.
using watcher = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// The first valid record of the log that begins in [from, end), found by its magic number alone,
/// as after damage no length can be trusted.
[[nodiscard]] std::optional<log_record> search_record(const file& log, std::uint64_t from,
                                                      std::uint64_t end, const watcher& watch = {});

} // namespace chainbase
