#pragma once

#include <tools/block_log/block.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/block_log/file.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace chainbase {

/// One verified record of a block log: some consecutive blocks in one compressed frame.
///
/// Immutable; safe to read from any number of threads.
class log_record {
public:
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
    [[nodiscard]] std::uint64_t end() const noexcept { return offset_ + raw_.size(); }
    [[nodiscard]] std::uint64_t first_number() const noexcept;
    [[nodiscard]] std::uint64_t last_number() const noexcept;
    [[nodiscard]] std::uint32_t blocks() const noexcept;
    [[nodiscard]] std::uint64_t checksum() const noexcept;
    /// Bytes of the blocks before compression, as the header states them.
    [[nodiscard]] std::uint32_t unpacked_bytes() const noexcept;

    /// The same record for another offset: its bytes do not depend on the offset.
    [[nodiscard]] log_record moved_to(std::uint64_t offset) && noexcept {
        offset_ = offset;
        return std::move(*this);
    }

    /// The record's bytes as they are in the file.
    [[nodiscard]] byte_view raw() const noexcept { return raw_; }

    /// The encoded blocks, each preceded by its length. Throws damaged_error when the frame does
    /// not unpack to the length in the header.
    [[nodiscard]] bytes unpack() const;

private:
    friend struct record_check check_record(const file&, std::uint64_t, std::uint64_t);
    friend log_record pack_record(const struct record_batch&, int, std::uint64_t);

    std::uint64_t offset_ = 0;
    bytes raw_;
};

/// Either a record or the reason why there is none.
struct record_check {
    std::optional<log_record> record;
    std::string reason;
};

/// Reads and verifies the record at `offset` of a log that ends at byte `end`. Invalid bytes are
/// returned as a reason; only a refused read throws (io_error).
[[nodiscard]] record_check check_record(const file& log, std::uint64_t offset, std::uint64_t end);

/// The record whose last byte is just before `end`, for walking a log backwards without an index.
[[nodiscard]] record_check check_record_before(const file& log, std::uint64_t end);

/// Encoded blocks collected for one record.
struct record_batch {
    std::uint64_t first_number = 0;
    std::uint64_t last_number = 0;
    std::uint32_t blocks = 0;
    bytes unpacked;

    [[nodiscard]] bool empty() const noexcept { return blocks == 0; }

    /// Adds a block whose encoding is `encoded`. Requires a number above last_number (unless empty)
    /// and room below max_record_bytes.
    void add(std::uint64_t number, byte_view encoded);
};

/// Packs the batch's blocks into a record for `offset`, compressed at zstd's `level`; the same
/// batch, level and zstd version give the same bytes. Requires a non-empty batch. Throws
/// limit_error when it exceeds max_record_bytes.
[[nodiscard]] log_record pack_record(const record_batch& batch, int level, std::uint64_t offset);

/// Iterates over the blocks of one record and verifies that they are what the record states.
///
/// Holds the unpacked record. Not thread-safe. Faults throw damaged_error without a position: the
/// caller that read the record knows its file and byte.
class record_blocks {
public:
    /// Unpacks the record. Throws damaged_error when it does not unpack.
    explicit record_blocks(const log_record& record);
    record_blocks(record_blocks&&) = default; // views keep pointing to the same bytes
    record_blocks& operator=(record_blocks&&) = default;

    /// The next block, or nothing behind the last. Throws damaged_error for bytes that are no
    /// block, for a number that does not rise, and at the end when the record states other blocks;
    /// the position then does not move.
    [[nodiscard]] std::optional<block> next();

    /// A block's encoding, for callers that do not use decode_block. Valid as long as the record's
    /// blocks are.
    struct encoded_block {
        std::uint64_t number;
        byte_view encoded;
    };
    /// As next(), but decodes only the block's number.
    [[nodiscard]] std::optional<encoded_block> next_encoded();

    /// Skips the blocks below `number`; returns how many there were.
    std::uint64_t skip_below(std::uint64_t number);

    /// The encoding of the block returned last, preceded by its length: equal blocks have equal
    /// encodings, however they are packed.
    [[nodiscard]] byte_view encoded() const noexcept { return encoded_; }

    /// Unpacked bytes of the blocks returned, and of all.
    [[nodiscard]] std::size_t position() const noexcept { return reader_.position(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return unpacked_.size(); }

private:
    [[nodiscard]] std::optional<encoded_block> peek() const;
    void step_over(std::uint64_t number);
    void require_end() const;

    chainbase::bytes unpacked_;
    byte_reader reader_;
    byte_view encoded_;
    std::uint64_t first_number_;
    std::uint64_t stated_last_;
    std::uint32_t stated_blocks_;
    std::uint64_t last_number_ = 0;
    std::uint32_t delivered_ = 0;
};

/// Reports the progress of something long, in bytes done and in all; may throw to stop it.
using progress_callback = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Bounds the cost of a search by the bytes of all candidate records, which a hostile log could let
/// overlap without end.
class search_budget {
public:
    /// The budget for a log of so many bytes, for any number of searches.
    explicit search_budget(std::uint64_t bytes) noexcept : left_(4 * bytes) {}

    /// Takes `bytes` off the budget; false when less was left.
    [[nodiscard]] bool spend(std::uint64_t bytes) noexcept {
        if (bytes > left_) return false;
        left_ -= bytes;
        return true;
    }

private:
    std::uint64_t left_;
};

/// The result of a search.
struct search_result {
    std::optional<log_record> record;
    bool gave_up = false; ///< the budget was spent: whether there is a record is unknown
};

/// Finds the first valid record that begins in [from, end) by its magic number alone: after damage
/// no length can be trusted. Calls `watch` for all candidates.
[[nodiscard]] search_result search_record(const file& log, std::uint64_t from, std::uint64_t end,
                                          search_budget& budget,
                                          const progress_callback& watch = {});

} // namespace chainbase
