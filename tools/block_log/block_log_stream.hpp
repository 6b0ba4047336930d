#pragma once

#include <tools/block_log/block.hpp>
#include <tools/block_log/block_log_contents.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace chainbase {

/// Delivers the blocks of a log one after the other; made by block_log_reader::stream.
///
/// Holds one unpacked record at a time. Not thread-safe; several streams of one reader are
/// independent.
class block_log_stream {
public:
    /// A block's encoding, for who decodes it in another way than decode_block. Valid until the
    /// next call.
    struct encoded_block {
        std::uint64_t number;
        byte_view encoded;
    };
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

    bool open_next();
    [[nodiscard]] bool record_is_used_up() const noexcept { return consumed_ == unpacked_.size(); }
    void open_record();
    void require_count() const;
    void require_order(std::uint64_t number) const;
    [[nodiscard]] byte_view peek(std::size_t& size) const;
    [[nodiscard]] block decode(byte_view encoded) const;
    [[nodiscard]] std::uint64_t number_of(byte_view encoded) const;
    void step_over(std::uint64_t number, std::size_t size);
    void skip_below(std::uint64_t from);
    [[noreturn]] void fail(std::size_t record, const std::string& reason) const;

    std::shared_ptr<const file> log_;
    std::shared_ptr<const block_log_contents> contents_;
    std::size_t next_record_ = 0; // the one after the record in unpacked_
    std::size_t end_record_ = 0;  // the one that is not opened any more
    bytes unpacked_;
    std::size_t consumed_ = 0; // bytes of unpacked_
    std::uint64_t blocks_behind_ = 0;
    std::uint64_t last_number_ = 0;            // of the block before; 0 in front of the first
    std::optional<std::uint64_t> stated_last_; // by the record in unpacked_
};

} // namespace chainbase
