#pragma once

#include <tools/block_log/byte_reader.hpp>
#include <tools/block_log/log_record.hpp>

#include <cstdint>
#include <optional>

namespace chainbase {

/// The blocks of one record, one after the other, and whether they are what the record states.
///
/// Holds the unpacked record. Not thread-safe. Whatever is wrong is a damaged_error that says what,
/// not where: whoever read the record knows its file and byte.
class record_blocks {
public:
    /// Unpacks the record. Throws damaged_error when it does not unpack.
    explicit record_blocks(const log_record& record);
    record_blocks(const record_blocks&) = delete;
    record_blocks& operator=(const record_blocks&) = delete;

    /// The next block, or nothing behind the last. Throws damaged_error for bytes that are no
    /// block, for a number that does not rise, and at the end when the record states other blocks.
    [[nodiscard]] std::optional<block> next();

    /// The block delivered last as it is encoded, its length in front: every encoding of equal
    /// blocks is the same, however they are packed.
    [[nodiscard]] byte_view encoded() const noexcept { return encoded_; }

private:
    void require_stated(const block& next) const;
    void require_end() const;

    bytes unpacked_;
    byte_reader reader_;
    byte_view encoded_;
    std::uint64_t first_number_;
    std::uint64_t stated_last_;
    std::uint32_t stated_blocks_;
    std::uint64_t last_number_ = 0;
    std::uint32_t delivered_ = 0;
};

} // namespace chainbase
