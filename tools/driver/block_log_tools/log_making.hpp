#pragma once

#include <tools/block_log/block_log_reader.hpp>
#include <tools/driver/block_log_tools/log_reading.hpp>
#include <tools/driver/import/unfinished_log.hpp>
#include <tools/driver/log_progress.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

/// A log that was made of blocks of others.
struct made_log {
    std::filesystem::path path;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
};
BOOST_DESCRIBE_STRUCT(made_log, (), (path, first, last, blocks, bytes))

/// What was made, and of which chain.
struct made_logs {
    std::string chain;
    std::vector<made_log> logs;
};
BOOST_DESCRIBE_STRUCT(made_logs, (), (chain, logs))

/// For people.
[[nodiscard]] std::string to_text(const made_logs& made);

/// Copies the blocks of `record` that are in the range: the record as it is when all of them are,
/// else packed anew. Throws damaged_error when the record is not what it states, and what writing
/// throws.
void copy_blocks(log_record record, const block_range& range, unfinished_log& to);

/// Copies the blocks of the range from the log that `from` reads. Throws the same, naming the
/// place.
template <class Watch>
void copy_blocks(block_log_records from, const block_range& range, unfinished_log& to,
                 Watch&& watch) {
    while (from.next_number() && *from.next_number() <= range.last) {
        log_record next = from.next().value();
        try {
            copy_blocks(std::move(next), range, to);
        } catch (const damaged_error& problem) {
            from.fail(problem.what());
        }
        watch(from.position());
    }
}

struct split_options {
    std::filesystem::path log;
    std::filesystem::path to_folder;
    /// Numbers at which a new piece begins, or
    std::vector<std::uint64_t> at;
    /// how many blocks a piece has.
    std::optional<std::uint64_t> every;
};

/// Makes the pieces of a log in a new folder; the log stays as it is. A torn end is left out, as
/// when it is read. Throws usage_error when the folder exists, when the log is empty, or when a
/// number does not cut it in two; what block_log_reader and block_log_writer throw; and
/// interrupted_error. There is no folder then.
[[nodiscard]] made_logs split_log(const split_options& options, log_progress& shown);

/// Makes a new log at `to` of the blocks of the range; the old one stays as it is. Throws
/// usage_error when `to` exists or no block lies in the range, what block_log_reader and
/// block_log_writer throw, and interrupted_error. Nothing is at `to` then.
[[nodiscard]] made_logs trim_log(const std::filesystem::path& log, const std::filesystem::path& to,
                                 const block_range& range, log_progress& shown);

struct merge_options {
    std::filesystem::path to;
    /// In any order.
    std::vector<std::filesystem::path> from;
    /// Whether numbers may be missing between two logs.
    bool allow_gaps = false;
};

/// Makes one log of several of the same chain, in the order of their blocks; they stay as they are.
/// Nothing is made before all of them were looked at.
///
/// Throws usage_error naming the numbers when two overlap, when numbers are missing between two
/// (unless gaps are allowed), when chains differ, when there is no block, when `to` exists; what
/// block_log_reader and block_log_writer throw; and interrupted_error. Nothing is at `to` then.
[[nodiscard]] made_logs merge_logs(const merge_options& options, log_progress& shown);

} // namespace chainbase::driver
