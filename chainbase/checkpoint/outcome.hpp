#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace chainbase::checkpoint {

/// When checkpoints are made automatically.
struct schedule {
    std::chrono::milliseconds interval{30'000}; ///< 0: never by time
    std::uint64_t blocks = 0;                   ///< so many pushed sessions; 0: never by number
};

/// What one checkpoint contains, and its cost.
struct outcome {
    std::uint64_t generation = 0;
    std::int64_t revision = 0;
    std::uint64_t pages = 0;        ///< written, leaves of the page table included
    std::uint64_t bytes = 0;        ///< written to the disk in all
    std::uint64_t copied_ahead = 0; ///< pages that the writer copied before it changed them
    double pause_seconds = 0;       ///< that the writer waited at the block's end
    double seconds = 0;             ///< until it was published
};

/// What the redo log has written to storage so far.
struct redo_history {
    /// Whether blocks are written to the redo log now; else only the next checkpoint makes them
    /// durable.
    bool is_whole = false;
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
    std::uint64_t syncs = 0; ///< each covers all waiting blocks
    std::uint64_t waiting_bytes = 0;
    std::uint64_t failed = 0;
    std::string last_failure; ///< empty when a block became durable after it
    std::int64_t durable = 0; ///< revision of the last durable block
    std::uint32_t serial = 0; ///< undo_log::serial() at its end; 0: unknown
};

/// The checkpoints since the state was opened.
struct history {
    std::uint64_t made = 0;
    std::uint64_t failed = 0;
    std::optional<outcome> last;
    std::string last_failure;         ///< empty when the last one succeeded
    std::optional<redo_history> redo; ///< with durability::commit
};

/// Whether two messages report the same failure: sizes, offsets and file numbers (hexadecimal)
/// differ from one attempt to the next, the cause does not.
[[nodiscard]] bool is_same_failure(std::string_view one, std::string_view other) noexcept;

/// Called about a hundred times while a checkpoint is restored, with the bytes done and the bytes
/// in all.
using progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

} // namespace chainbase::checkpoint
