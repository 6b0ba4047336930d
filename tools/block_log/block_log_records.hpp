#pragma once

#include <tools/block_log/block_log_contents.hpp>
#include <tools/block_log/log_record.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace chainbase {

/// Delivers the records of a log one after the other, each verified but not unpacked, for who
/// copies them as they are; made by block_log_reader::whole_records.
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

    /// Throws damaged_error naming the record delivered last, for who finds a fault in it.
    [[noreturn]] void fail(const std::string& reason) const;

private:
    friend class block_log_reader;

    block_log_records(std::shared_ptr<const file> log,
                      std::shared_ptr<const block_log_contents> contents, std::uint64_t from);

    std::shared_ptr<const file> log_;
    std::shared_ptr<const block_log_contents> contents_;
    std::size_t next_ = 0;
};

} // namespace chainbase
