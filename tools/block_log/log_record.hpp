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
    /// Bytes of the blocks before they were packed, as the header states them.
    [[nodiscard]] std::uint32_t unpacked_bytes() const noexcept;

    /// The same record, to be written at another place: its bytes do not depend on the place.
    [[nodiscard]] log_record moved_to(std::uint64_t offset) && noexcept {
        offset_ = offset;
        return std::move(*this);
    }

    /// The record's bytes as they are in the file.
    [[nodiscard]] byte_view raw() const noexcept { return raw_; }

    /// The encoded blocks, each with its length in front. Throws damaged_error when the frame does
    /// not unpack to the length that the header states.
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

/// Reads and verifies the record at `offset` of the log, which is taken to end at byte `end`. What
/// is wrong with its bytes is a returned reason; only a refused read throws (io_error).
[[nodiscard]] record_check check_record(const file& log, std::uint64_t offset, std::uint64_t end);

/// The record whose last byte is just before `end`: walks a log backwards without an index.
[[nodiscard]] record_check check_record_before(const file& log, std::uint64_t end);

/// Encoded blocks on their way into one record.
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

/// The record with the batch's blocks, compressed at zstd's `level`, that is to be written at
/// `offset`; the same batch, level and zstd version give the same bytes. Requires a batch that is
/// not empty. Throws limit_error when it exceeds max_record_bytes.
[[nodiscard]] log_record pack_record(const record_batch& batch, int level, std::uint64_t offset);

/// The blocks of one record, one after the other, and whether they are what the record states.
///
/// Holds the unpacked record. Not thread-safe. Whatever is wrong is a damaged_error that says what,
/// not where: whoever read the record knows its file and byte.
class record_blocks {
public:
    /// Unpacks the record. Throws damaged_error when it does not unpack.
    explicit record_blocks(const log_record& record);
    record_blocks(record_blocks&&) = default; // what views point to stays where it is
    record_blocks& operator=(record_blocks&&) = default;

    /// The next block, or nothing behind the last. Throws damaged_error for bytes that are no
    /// block, for a number that does not rise, and at the end when the record states other blocks;
    /// it then stays where it is.
    [[nodiscard]] std::optional<block> next();

    /// A block's encoding, for callers that do not decode it by decode_block. Valid as long as
    /// the record's blocks are.
    struct encoded_block {
        std::uint64_t number;
        byte_view encoded;
    };
    /// As next(), but leaves the block as it is behind its number.
    [[nodiscard]] std::optional<encoded_block> next_encoded();

    /// Steps over the blocks below `number`; returns how many there were.
    std::uint64_t skip_below(std::uint64_t number);

    /// The block delivered last as it is encoded, its length in front: every encoding of equal
    /// blocks is the same, however they are packed.
    [[nodiscard]] byte_view encoded() const noexcept { return encoded_; }

    /// Unpacked bytes, of the blocks delivered and of all.
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

/// Told now and then how far something long is, in bytes done and in all; may throw to end it.
using watcher = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// What searching may cost: the bytes of all that looks like a record on the way, which a log that
/// was made for it lets overlap without end.
class search_budget {
public:
    /// For a log of so many bytes, however often it is searched.
    explicit search_budget(std::uint64_t bytes) noexcept : left_(4 * bytes) {}

    /// Whether so much was left; it is less then.
    [[nodiscard]] bool spend(std::uint64_t bytes) noexcept {
        if (bytes > left_) return false;
        left_ -= bytes;
        return true;
    }

private:
    std::uint64_t left_;
};

/// What a search came to.
struct search_result {
    std::optional<log_record> record;
    bool gave_up = false; ///< the budget was spent: it cannot be told whether there is one
};

/// The first valid record of the log that begins in [from, end), found by its magic number alone,
/// as after damage no length can be trusted. `watch` is told of all that looks like one.
[[nodiscard]] search_result search_record(const file& log, std::uint64_t from, std::uint64_t end,
                                          search_budget& budget, const watcher& watch = {});

} // namespace chainbase
