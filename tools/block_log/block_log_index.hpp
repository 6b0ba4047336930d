#pragma once

#include <tools/block_log/log_record.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase {

/// Positions of the records of one block log. Kept in a file beside the log; it can always be
/// rebuilt from the log.
///
/// Invariant: entries have rising offsets, first block numbers and counts. Const functions are safe
/// from any number of threads; `add` needs exclusive use.
class block_log_index {
public:
    struct entry {
        std::uint64_t offset;
        std::uint64_t first_number;
        std::uint64_t blocks_before;

        friend bool operator==(const entry&, const entry&) = default;
    };

    /// The index of a log without records whose header has this checksum.
    explicit block_log_index(std::uint64_t header_checksum);

    [[nodiscard]] const std::vector<entry>& entries() const noexcept { return entries_; }
    [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

    /// Bytes of the log up to the end of the last record.
    [[nodiscard]] std::uint64_t log_bytes() const noexcept { return log_bytes_; }
    [[nodiscard]] std::uint64_t blocks() const noexcept { return blocks_; }
    /// The number of the last block; 0 when empty.
    [[nodiscard]] std::uint64_t last_number() const noexcept { return last_number_; }

    /// The checksum of the log's header, and of its last record; 0 when empty.
    [[nodiscard]] std::uint64_t header_checksum() const noexcept { return header_checksum_; }
    [[nodiscard]] std::uint64_t last_checksum() const noexcept { return last_checksum_; }

    /// One past the last byte of a record.
    [[nodiscard]] std::uint64_t end_of(std::size_t record) const noexcept;

    /// The position of the record that holds block `number`; entries().size() when `number` lies
    /// before the first or behind the last block. Binary search.
    [[nodiscard]] std::size_t record_for(std::uint64_t number) const noexcept;

    /// Bytes of the log up to and including block `number`, or the block before it when there is
    /// none. Reads nothing: within a record of many blocks it interpolates by block number.
    [[nodiscard]] std::uint64_t position_of(std::uint64_t number) const noexcept;

    /// Appends a record that begins at log_bytes(). Requires its first number above last_number()
    /// unless empty.
    void add(const log_record& record);

    /// Whether the log's bytes up to log_bytes() end with the last record in this index.
    [[nodiscard]] bool matches(const file& log) const;

    friend bool operator==(const block_log_index&, const block_log_index&) = default;

    /// Replaces the file at `path` on disk `on` atomically. Throws io_error or out_of_space_error;
    /// limit_error when the log has 2^32 records or more.
    void save(const std::filesystem::path& path, disk* on = nullptr) const;

private:
    friend struct index_check load_index(const std::filesystem::path&, std::uint64_t, disk*);

    [[nodiscard]] bool is_consistent() const noexcept;

    std::vector<entry> entries_;
    std::uint64_t header_checksum_;
    std::uint64_t log_bytes_;
    std::uint64_t last_checksum_ = 0;
    std::uint64_t last_number_ = 0;
    std::uint64_t blocks_ = 0;
};

/// Either an index or the reason why there is none.
struct index_check {
    std::optional<block_log_index> index;
    std::string reason;
};

/// Reads the index of the log whose header has this checksum. A missing, foreign, short or altered
/// file is returned as a reason. `on`: null is the operating system's disk.
[[nodiscard]] index_check load_index(const std::filesystem::path& path,
                                     std::uint64_t header_checksum, disk* on = nullptr);

/// The path of a log's index: the log's name with ".index" added.
[[nodiscard]] std::filesystem::path index_path(const std::filesystem::path& log);

} // namespace chainbase
