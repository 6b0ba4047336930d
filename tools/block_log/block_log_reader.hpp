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

/// Delivers the records of a log one after the other, each verified but not unpacked, to be
/// copied as they are; made by block_log_reader::whole_records.
///
/// Not thread-safe; several of one reader are independent.
class block_log_records {
public:
    /// The next record, or nothing behind the last. Throws damaged_error with file, block number
    /// and byte offset at a damaged one; it then stays where it is.
    [[nodiscard]] std::optional<log_record> next();

    /// The number of the first block that next() will deliver; nothing behind the last record.
    /// Reads nothing.
    [[nodiscard]] std::optional<std::uint64_t> next_number() const noexcept;

    /// Bytes of the log up to the end of the record delivered last.
    [[nodiscard]] std::uint64_t position() const noexcept;

    /// Throws damaged_error naming the record delivered last: for a caller that finds a fault in
    /// it.
    [[noreturn]] void fail(const std::string& reason) const;

private:
    friend class block_log_reader;

    block_log_records(std::shared_ptr<const file> log,
                      std::shared_ptr<const block_log_contents> contents, std::uint64_t from);

    std::shared_ptr<const file> log_;
    std::shared_ptr<const block_log_contents> contents_;
    std::size_t next_ = 0;
};

/// Delivers the blocks of a log one after the other; made by block_log_reader::stream.
///
/// Holds one unpacked record at a time. Not thread-safe; several streams of one reader are
/// independent.
class block_log_stream {
public:
    /// Valid until the next call.
    using encoded_block = record_blocks::encoded_block;
    /// As next(), but leaves the block as it is behind its number.
    [[nodiscard]] std::optional<encoded_block> next_encoded();
    /// Throws the damaged_error of the block that next_encoded delivered last.
    [[noreturn]] void refuse(const std::string& reason) const { fail(next_record_ - 1, reason); }

    /// The next block, or nothing behind the last. Throws damaged_error with file, block number and
    /// byte offset at a damaged record; the stream then stays where it is.
    [[nodiscard]] std::optional<block> next();

    /// Bytes of the log up to and including the block delivered last (before the first: up to where
    /// the stream began). Within a record in proportion to the unpacked bytes; equals the reader's
    /// bytes() at the end. For progress: work left is better guessed from bytes than from blocks.
    [[nodiscard]] std::uint64_t position() const noexcept;

    /// Blocks of the log up to and including the one delivered last.
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
    std::size_t next_record_ = 0;       // the one after the record that is open
    std::size_t end_record_ = 0;        // the one that is not opened any more
    std::optional<record_blocks> open_; // the one that blocks are taken from
    std::uint64_t last_number_ = 0;     // of the record that is open; 0 before the first
    std::uint64_t blocks_behind_ = 0;
};

/// A block log opened for reading: its extent, blocks by number, and streams from any place.
///
/// Sees the log as it was when opened; a writer that appends meanwhile does no harm. Never changes
/// the log (the index beside it is rebuilt when needed and possible). Copies are cheap and share
/// the open file. Thread-safe: all functions are const and may be called by any number of threads.
///
/// Every record that is read is verified first. Damage surfaces as damaged_error with file, block
/// number and byte offset: on opening when the index has to be rebuilt, else when the damaged place
/// is read. A torn end is no damage: it is left out, with a warning, as is what was never synced.
class block_log_reader {
public:
    /// Opens the log at `path`, of chain `expected_chain` (empty: any). Throws io_error when it
    /// cannot be opened, format_error when it is no such log, damaged_error.
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
    /// Bytes of the log up to and including block `number`, or the one before it when there is
    /// none. Reads nothing, so within a record of many blocks it is a guess in proportion to the
    /// numbers.
    [[nodiscard]] std::uint64_t position_of(std::uint64_t number) const noexcept {
        return contents_->index.position_of(number);
    }
    /// Bytes of the blocks before they were packed. Reads the header of each record and nothing
    /// else, so it is what they state: no checksum is verified. Throws damaged_error at a header
    /// that does not fit the index.
    [[nodiscard]] std::uint64_t stated_unpacked_bytes() const;
    /// Why the index beside the log was not used as it is ("is missing"); empty when it was.
    [[nodiscard]] const std::string& index_fault() const noexcept { return contents_->index_fault; }
    /// "the log is cut: ...", with what to do; empty when it is whole, as far as can be told, or a
    /// writer of it is at work or died.
    [[nodiscard]] const std::string& cut() const noexcept { return contents_->cut; }
    /// Bytes of the torn end that are left out; 0 almost always.
    [[nodiscard]] std::uint64_t torn_bytes() const noexcept { return contents_->torn_bytes; }

    /// The block with this number; nothing when there is none. Unpacks the record it is in (up to
    /// the batch size of the log's writer), so use a stream for many.
    [[nodiscard]] std::optional<block> read(std::uint64_t number) const;

    /// The blocks from the first whose number is at least `from` to the end. The stream keeps the
    /// file open by itself. Throws damaged_error when the record to begin in is damaged.
    [[nodiscard]] block_log_stream stream(std::uint64_t from = 0) const;

    /// Records in the log; each holds some consecutive blocks.
    [[nodiscard]] std::size_t records() const noexcept { return contents_->index.entries().size(); }
    /// The record to begin with for the blocks whose number is at least `from`: what it has in
    /// front of them is to be skipped. records() when there are none.
    [[nodiscard]] std::size_t record_of(std::uint64_t from) const noexcept;
    /// Bytes of the log up to and including a record.
    [[nodiscard]] std::uint64_t end_of_record(std::size_t record) const noexcept {
        return contents_->index.end_of(record);
    }
    /// The blocks of one record: what several threads can read side by side.
    [[nodiscard]] block_log_stream stream_record(std::size_t record) const;

    /// The records as they are packed, from the one on that holds the first block whose number is
    /// at least `from`. They keep the file open by themselves.
    [[nodiscard]] block_log_records whole_records(std::uint64_t from = 0) const;

private:
    std::shared_ptr<const file> log_;
    std::shared_ptr<const block_log_contents> contents_;
};

} // namespace chainbase
