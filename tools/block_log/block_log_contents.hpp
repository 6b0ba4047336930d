#pragma once

#include <pool_allocator/error.hpp>
#include <tools/block_log/block_log_index.hpp>
#include <tools/block_log/file.hpp>
#include <tools/block_log/log_record.hpp>
#include <tools/block_log/synced_mark.hpp>

#include <cstdint>
#include <optional>
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

/// How a block log is opened.
struct opening_options {
    /// Whether an index that had to be built is saved beside the log.
    bool save_index = true;
    /// Whether a saved index that fits is believed. If not, every record is verified, and the index
    /// only testifies to what was complete once.
    bool use_index = true;
    /// Told of the bytes scanned where the index does not help.
    watcher watch;
    /// Where log and index are; null: the operating system's.
    disk* on = nullptr;
};

/// Valid records at the end of a log that nobody ever synced: one before them did not come to the
/// device when the power went.
struct unsynced_blocks {
    std::uint64_t first = 0; ///< block number
    std::uint64_t last = 0;
    std::uint64_t count = 0;
};

/// What opening a block log finds.
struct block_log_contents {
    log_header header;
    /// Of all valid records.
    block_log_index index;
    /// Bytes up to there that were synced, as far as is known: a writer that had the log open died
    /// behind them.
    std::uint64_t synced_bytes = 0;
    /// Bytes after the last valid record in order, none of which were ever synced; 0 almost always.
    std::uint64_t torn_bytes = 0;
    /// Why the first of them is no record.
    std::string torn_reason;
    /// What is valid among them; nothing when the write that a crash cut short was the last one.
    std::optional<unsynced_blocks> unsynced;
    /// "the log is cut: ...", with what to do: it ends in no whole record, or before what its mark
    /// tells of, and it is no writer of this very file that left that or is at work. Empty: not so.
    std::string cut;
    /// Why the index beside the log was not used as it is ("is missing"); empty when it was.
    std::string index_fault;
};

/// Opens the log's index, or builds it anew by a forward scan when it is missing, damaged or does
/// not fit the log, or extends it when the log has grown since; then says so (info) and tries to
/// save it, unless `options` say otherwise or a writer that died may have failed to sync its
/// records. The log itself is never changed.
///
/// Throws what read_log_header throws, and damaged_error with file, block number and offset when
/// something is invalid that the saved index or the mark tells to have been valid once, or that a
/// valid record follows: damage, not a torn end. Such records are a part of the torn end where the
/// mark tells that nothing behind it was ever synced.
[[nodiscard]] block_log_contents read_contents(const file& log, std::string_view expected_chain,
                                               const opening_options& options = {});

/// What makes a log count as cut: `torn` at its end that only a crash of its own writer would
/// excuse, or less of it than its mark tells. Of a download that ended early, most likely.
struct log_end {
    std::uint64_t offset = 0; ///< of the end of what is whole
    std::uint64_t torn_bytes = 0;
    std::string before; ///< "block 17", "the header"
    bool has_writer = false;
};
/// block_log_contents::cut of a log with such an end and this mark.
[[nodiscard]] std::string cut_in_words(const file& log, const log_end& end,
                                       const std::optional<synced_mark>& mark);

/// The damaged_error of a log that is invalid at byte `offset`, where `expected` ("block 17")
/// should be.
[[nodiscard]] damaged_error damage_at(const file& log, std::uint64_t offset,
                                      const std::string& expected, const std::string& reason);

/// The record of that number, counted from 0. Throws damaged_error when it is none, or not the one
/// that the index tells of.
[[nodiscard]] log_record record_of(const file& log, const block_log_contents& contents,
                                   std::size_t number);

/// "the end is torn: N bytes after block M (reason) are cut", with the blocks among them, for the
/// warning about a torn end; `fate` is what happens to them: "are cut".
[[nodiscard]] std::string describe_torn_end(const block_log_contents& contents,
                                            std::string_view fate);

} // namespace chainbase
