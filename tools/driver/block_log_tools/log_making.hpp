#pragma once

#include <tools/block_log/block_log_reader.hpp>
#include <tools/driver/block_log_tools/log_reading.hpp>
#include <tools/driver/import/unfinished_log.hpp>
#include <tools/progress.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

/// A log made of other logs' blocks.
struct made_log {
    std::filesystem::path path;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
};
BOOST_DESCRIBE_STRUCT(made_log, (), (path, first, last, blocks, bytes))

/// The logs made, and their chain.
struct made_logs {
    std::string chain;
    std::vector<made_log> logs;
};
BOOST_DESCRIBE_STRUCT(made_logs, (), (chain, logs))

/// For people.
[[nodiscard]] std::string to_text(const made_logs& made);

/// Copies the blocks of `record` that are in the range: unchanged if all are, else packed anew.
/// Throws damaged_error when the record is not what it states, and what writing throws.
void copy_blocks(log_record record, const block_range& range, unfinished_log& to);

/// Copies the range's blocks of the log that `from` reads. Throws as copy_blocks above, naming the
/// position.
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
    /// The first block number of each further piece, or
    std::vector<std::uint64_t> at;
    /// the number of blocks in a piece.
    std::optional<std::uint64_t> every;
};

/// Splits a log into pieces in a new folder; the log is unchanged. Leaves out a torn end, as
/// reading does. Throws usage_error when the folder exists, when the log is empty, or when a number
/// does not cut it in two; what block_log_reader and block_log_writer throw; and interrupted_error.
/// After an exception no folder is left.
[[nodiscard]] made_logs split_log(const split_options& options, progress& shown);

/// Makes a new log at `to` from the blocks of the range; the old one is unchanged. Throws
/// usage_error when `to` exists or no block lies in the range, what block_log_reader and
/// block_log_writer throw, and interrupted_error. After an exception nothing is left at `to`.
[[nodiscard]] made_logs trim_log(const std::filesystem::path& log, const std::filesystem::path& to,
                                 const block_range& range, progress& shown);

struct merge_options {
    std::filesystem::path to;
    /// In any order.
    std::vector<std::filesystem::path> from;
    /// Whether numbers may be missing between two logs.
    bool allow_gaps = false;
};

/// Merges logs of the same chain into one, in the order of their blocks; the inputs are unchanged.
/// Checks all of them before it writes anything.
///
/// Throws usage_error naming the numbers when two overlap, when numbers are missing between two
/// (unless gaps are allowed), when chains differ, when there is no block, when `to` exists; what
/// block_log_reader and block_log_writer throw; and interrupted_error. After an exception nothing
/// is left at `to`.
[[nodiscard]] made_logs merge_logs(const merge_options& options, progress& shown);

} // namespace chainbase::driver
