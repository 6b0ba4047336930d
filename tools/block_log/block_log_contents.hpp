#pragma once

#include <pool_allocator/base/error.hpp>
#include <tools/block_log/block_log_index.hpp>
#include <tools/block_log/file.hpp>
#include <tools/block_log/log_record.hpp>
#include <tools/block_log/synced_mark.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace chainbase {

/// The decoded 64-byte header of a block log.
struct log_header {
    /// The chain or data set of the blocks, such as "steem-2016".
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

/// Options of opening a block log.
struct opening_options {
    /// Save an index that had to be rebuilt.
    bool save_index = true;
    /// Trust a saved index that fits. If false, every record is verified, and the index only proves
    /// which records were complete once.
    bool use_index = true;
    /// Called with the bytes scanned where the index does not help.
    progress_callback watch;
    /// Disk of log and index; null: the operating system's.
    disk* on = nullptr;
};

/// Valid records at the end of a log that were never synced: a record before them was lost in a
/// power failure.
struct unsynced_blocks {
    std::uint64_t first = 0; ///< block number
    std::uint64_t last = 0;
    std::uint64_t count = 0;
};

/// The result of opening a block log.
struct block_log_contents {
    log_header header;
    /// Index of all valid records.
    block_log_index index;
    /// Bytes known to be synced, when a writer died after appending behind them.
    std::uint64_t synced_bytes = 0;
    /// Bytes after the last valid record in order, never synced; 0 almost always.
    std::uint64_t torn_bytes = 0;
    /// Why the first of these bytes begin no valid record.
    std::string torn_reason;
    /// Valid records among these bytes; empty when the crash cut short the last write.
    std::optional<unsynced_blocks> unsynced;
    /// "the log is cut: ...", with what to do: the log does not end in a whole record, or ends
    /// before what its mark covers, and no crashed or working writer of this very file explains it.
    /// Empty: not cut.
    std::string cut;
    /// Why the saved index was not used as it is ("is missing"); empty when it was.
    std::string index_fault;
};

/// Opens the log's index. Rebuilds it by a forward scan when it is missing, damaged or does not fit
/// the log; extends it when the log has grown. Then logs this (info) and tries to save it, unless
/// `options` forbid that or a writer that died may have failed to sync its records. Never changes
/// the log.
///
/// Throws what read_log_header throws; damaged_error with file, block number and offset when
/// something is invalid that the saved index or the mark proves valid once, or that a valid record
/// follows: that is damage, not a torn end. Records after the invalid one belong to the torn end
/// where the mark proves that nothing behind it was ever synced.
[[nodiscard]] block_log_contents read_contents(const file& log, std::string_view expected_chain,
                                               const opening_options& options = {});

/// Describes a cut log: it ends in a `torn` record, though no writer of this file crashed, or it is
/// shorter than its mark says. Most likely an incomplete download.
struct log_end {
    std::uint64_t offset = 0; ///< of the end of the last whole record
    std::uint64_t torn_bytes = 0;
    std::string before; ///< "block 17", "the header"
    bool has_writer = false;
};
/// block_log_contents::cut for a log with this end and this mark.
[[nodiscard]] std::string cut_in_words(const file& log, const log_end& end,
                                       const std::optional<synced_mark>& mark);

/// The damaged_error of a log that is invalid at byte `offset`, where `expected` ("block 17")
/// should be.
[[nodiscard]] damaged_error damage_at(const file& log, std::uint64_t offset,
                                      const std::string& expected, const std::string& reason);

/// The record with that number, counted from 0. Throws damaged_error when its bytes are no record,
/// or another one than the index lists.
[[nodiscard]] log_record record_of(const file& log, const block_log_contents& contents,
                                   std::size_t number);

/// "the end is torn: N bytes after block M (reason) are cut", with the blocks among them, for the
/// warning about a torn end; `fate` says what happens to the bytes ("are cut").
[[nodiscard]] std::string describe_torn_end(const block_log_contents& contents,
                                            std::string_view fate);

} // namespace chainbase
