#pragma once

#include <tools/block_log/block.hpp>
#include <tools/block_log/block_log_contents.hpp>
#include <tools/block_log/log_record.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace chainbase {

/// Iterates over the records of a log: each is verified but not unpacked, for copying. Made by
/// block_log_reader::whole_records.
///
/// Not thread-safe; several iterators over one reader are independent.
class block_log_records {
public:
    /// The next record, or nothing behind the last. Throws damaged_error with file, block number
    /// and byte offset at a damaged record; the position then does not move.
    [[nodiscard]] std::optional<log_record> next();

    /// The number of the first block that next() will return; nothing behind the last record. Reads
    /// nothing.
    [[nodiscard]] std::optional<std::uint64_t> next_number() const noexcept;

    /// Bytes of the log up to the end of the record returned last.
    [[nodiscard]] std::uint64_t position() const noexcept;

    /// Throws damaged_error naming the record returned last, for a caller that finds a fault in it.
    [[noreturn]] void fail(const std::string& reason) const;

private:
    friend class block_log_reader;

    block_log_records(std::shared_ptr<const file> log,
                      std::shared_ptr<const block_log_contents> contents, std::uint64_t from);

    std::shared_ptr<const file> log_;
    std::shared_ptr<const block_log_contents> contents_;
    std::size_t next_ = 0;
};

/// Iterates over the blocks of a log; made by block_log_reader::stream.
///
/// Holds one unpacked record at a time. Not thread-safe; several streams of one reader are
/// independent.
class block_log_stream {
public:
    /// Valid until the next call.
    using encoded_block = record_blocks::encoded_block;
    /// As next(), but decodes only the block's number.
    [[nodiscard]] std::optional<encoded_block> next_encoded();
    /// Throws damaged_error naming the block that next_encoded returned last.
    [[noreturn]] void refuse(const std::string& reason) const { fail(next_record_ - 1, reason); }

    /// The next block, or nothing behind the last. Throws damaged_error with file, block number and
    /// byte offset at a damaged record; the position then does not move.
    [[nodiscard]] std::optional<block> next();

    /// Bytes of the log up to and including the block returned last (before the first: up to the
    /// start of the stream). Within a record in proportion to the unpacked bytes; equals the
    /// reader's bytes() at the end. For progress: bytes predict the remaining work better than
    /// blocks.
    [[nodiscard]] std::uint64_t position() const noexcept;

    /// Blocks of the log up to and including the one returned last.
    [[nodiscard]] std::uint64_t blocks_behind() const noexcept { return blocks_behind_; }

private:
    friend class block_log_reader;

    block_log_stream(std::shared_ptr<const file> log,
                     std::shared_ptr<const block_log_contents> contents, std::uint64_t from);
    struct only_record {
        std::size_t number;
    };
    block_log_stream(std::shared_ptr<const file> log,
                     std::shared_ptr<const block_log_contents> contents, only_record record);

    template <class Take>
    [[nodiscard]] auto take(Take&& next_of);
    void open_record();
    [[noreturn]] void fail(std::size_t record, const std::string& reason) const;

    std::shared_ptr<const file> log_;
    std::shared_ptr<const block_log_contents> contents_;
    std::size_t next_record_ = 0;       // the one after the open record
    std::size_t end_record_ = 0;        // end of the records to read
    std::optional<record_blocks> open_; // the record being read
    std::uint64_t last_number_ = 0;     // of the open record; 0 before the first
    std::uint64_t blocks_behind_ = 0;
};

/// A block log opened for reading: its extent, blocks by number, and streams from any position.
///
/// Sees the log as it was when opened; a concurrent writer may append. Never changes the log (the
/// index beside it is rebuilt when needed and possible). Copies are cheap and share the open file.
/// Thread-safe: all functions are const and may be called by any number of threads.
///
/// Verifies every record before use. Damage throws damaged_error with file, block number and byte
/// offset: on opening when the index has to be rebuilt, else when the damaged place is read. A torn
/// end is no damage: it is left out with a warning, like records that were never synced.
class block_log_reader {
public:
    /// Opens the log at `path`, of chain `expected_chain` (empty: any). Throws io_error when it
    /// cannot be opened, format_error when it is no block log of that chain, damaged_error.
    explicit block_log_reader(const std::filesystem::path& path,
                              std::string_view expected_chain = {},
                              const opening_options& options = {});

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return log_->path(); }
    [[nodiscard]] const std::string& chain() const noexcept { return contents_->header.chain; }

    [[nodiscard]] bool empty() const noexcept { return count() == 0; }
    /// The first and the last block's number; nothing when the log is empty.
    [[nodiscard]] std::optional<std::uint64_t> first_number() const noexcept;
    [[nodiscard]] std::optional<std::uint64_t> head_number() const noexcept;
    /// Blocks in the log.
    [[nodiscard]] std::uint64_t count() const noexcept { return contents_->index.blocks(); }
    /// Bytes of the log, without a torn end.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return contents_->index.log_bytes(); }
    /// Bytes of the log up to and including block `number`, or the block before it when there is
    /// none. Reads nothing: within a record of many blocks it interpolates by block number.
    [[nodiscard]] std::uint64_t position_of(std::uint64_t number) const noexcept {
        return contents_->index.position_of(number);
    }
    /// Bytes of the blocks before compression, as the record headers state them: no checksum is
    /// verified. Reads only the header of each record. Throws damaged_error at a header that does
    /// not fit the index.
    [[nodiscard]] std::uint64_t stated_unpacked_bytes() const;
    /// Why the saved index was not used as it is ("is missing"); empty when it was.
    [[nodiscard]] const std::string& index_fault() const noexcept { return contents_->index_fault; }
    /// "the log is cut: ...", with what to do; empty when the log is whole as far as known, or a
    /// writer of it is at work or died.
    [[nodiscard]] const std::string& cut() const noexcept { return contents_->cut; }
    /// Bytes of the torn end that are left out; 0 almost always.
    [[nodiscard]] std::uint64_t torn_bytes() const noexcept { return contents_->torn_bytes; }

    /// The block with this number; nothing when there is none. Unpacks the record it is in (up to
    /// the batch size of the log's writer), so use a stream for many.
    [[nodiscard]] std::optional<block> read(std::uint64_t number) const;

    /// The blocks from the first whose number is at least `from` to the end. The stream keeps the
    /// file open. Throws damaged_error when its first record is damaged.
    [[nodiscard]] block_log_stream stream(std::uint64_t from = 0) const;

    /// Records in the log; each holds some consecutive blocks.
    [[nodiscard]] std::size_t records() const noexcept { return contents_->index.entries().size(); }
    /// The first record that holds blocks whose number is at least `from`; skip the lower ones in
    /// it. records() when there are none.
    [[nodiscard]] std::size_t record_of(std::uint64_t from) const noexcept;
    /// Bytes of the log up to and including a record.
    [[nodiscard]] std::uint64_t end_of_record(std::size_t record) const noexcept {
        return contents_->index.end_of(record);
    }
    /// The blocks of one record, so that several threads can read side by side.
    [[nodiscard]] block_log_stream stream_record(std::size_t record) const;

    /// The records in packed form, beginning with the one that holds the first block whose number
    /// is at least `from`. They keep the file open.
    [[nodiscard]] block_log_records whole_records(std::uint64_t from = 0) const;

private:
    std::shared_ptr<const file> log_;
    std::shared_ptr<const block_log_contents> contents_;
};

} // namespace chainbase
