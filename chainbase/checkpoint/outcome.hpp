#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace chainbase::checkpoint {

/// When checkpoints are made without being asked for.
struct rhythm {
    std::chrono::milliseconds interval{30'000}; ///< 0: never by time
    std::uint64_t blocks = 0;                   ///< so many pushed sessions; 0: never by number
};

/// What a checkpoint took, and what it cost.
struct outcome {
    std::uint64_t generation = 0;
    std::int64_t revision = 0;
    std::uint64_t pages = 0;        ///< written, leaves of the page table included
    std::uint64_t bytes = 0;        ///< written to the disk in all
    std::uint64_t copied_ahead = 0; ///< pages that the writer copied before it changed them
    double pause_seconds = 0;       ///< for which the writer waited at the block's end
    double seconds = 0;             ///< until it was published
};

/// What the redo log brought to storage so far.
struct redo_history {
    /// Whether blocks go there at the moment; else the next checkpoint brings them to storage.
    bool is_whole = false;
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
    std::uint64_t syncs = 0; ///< each of all blocks that waited
    std::uint64_t waiting_bytes = 0;
    std::uint64_t failed = 0;
    std::string last_failure; ///< empty when a block became durable after it
    std::int64_t durable = 0; ///< revision of the last block that a crash does not take
};

/// What became of the checkpoints so far.
struct history {
    std::uint64_t made = 0;
    std::uint64_t failed = 0;
    std::optional<outcome> last;
    std::string last_failure;         ///< empty when the last one succeeded
    std::optional<redo_history> redo; ///< with durability::commit
};

/// Whether one message says what the other does: sizes, offsets and numbers of files (which are
/// hexadecimal) differ from one attempt to the next, what is wrong does not.
[[nodiscard]] bool is_same_failure(std::string_view one, std::string_view other) noexcept;

/// Called while a checkpoint is restored with how much of how much was done, in bytes; about a
/// hundred times.
using progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

} // namespace chainbase::checkpoint
