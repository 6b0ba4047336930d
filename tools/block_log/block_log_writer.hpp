#pragma once

#include <tools/block_log/block.hpp>
#include <tools/block_log/block_log_index.hpp>
#include <tools/block_log/file.hpp>
#include <tools/block_log/log_record.hpp>
#include <tools/block_log/synced_mark.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace chainbase {

struct block_log_options {
    /// zstd's compression level, 1 to 19.
    int level = 3;
    /// Consecutive blocks are compressed together up to about this many bytes, since a small block
    /// alone compresses poorly. 0: each block alone. At most max_batch_bytes.
    std::uint32_t batch_bytes = 64 << 10;
    /// Disk of log and index; null: the operating system's.
    disk* on = nullptr;
};

inline constexpr std::uint32_t max_batch_bytes = 16u << 20;

/// Appends blocks to a block log. One writer per log, enforced by a lock; not thread-safe.
///
/// Invariants: (1) bytes in the log are never changed; only a torn end is cut on opening; (2) a
/// call that throws leaves log and writer unchanged, so it may be repeated, for example when there
/// is space again; (3) blocks wait in memory until their batch is full or `flush` is called; a
/// crash of the process loses them. `sync` makes them survive a power failure; (4) after a failed
/// sync, everything written since the last successful one is written again before `sync` returns,
/// or, if that writer died, before the next one opens; (5) the mark beside the log covers what is
/// on the device, or less.
class block_log_writer {
public:
    /// Makes a new log for the named chain; returns when header, mark and name are on the device.
    /// Throws usage_error when the file exists or the name is empty or longer than 32 bytes,
    /// io_error, out_of_space_error; no log is left then.
    [[nodiscard]] static block_log_writer create(const std::filesystem::path& path,
                                                 std::string_view chain,
                                                 block_log_options options = {});

    /// Opens an existing log to append to. Cuts a torn end, with a warning, and everything behind
    /// the first unsynced record that the device lost. Throws io_error, locked_error (another
    /// writer), format_error (no block log, another version or chain) and damaged_error (damage
    /// before the end); the log is then unchanged. Throws out_of_space_error when there is no space
    /// for the mark.
    [[nodiscard]] static block_log_writer
    open(const std::filesystem::path& path, std::string_view chain, block_log_options options = {});

    block_log_writer(block_log_writer&&) noexcept = default;
    block_log_writer& operator=(block_log_writer&&) = delete;

    /// As close(), but a failure is only logged.
    ~block_log_writer();

    /// Adds a block. Throws usage_error unless its number is above head_number(), limit_error when
    /// it is larger than a record can be, and what flush() throws, for the blocks before it.
    void append(const block& next);

    /// Flushes, then appends the blocks of another log's record in their packed form. Throws
    /// usage_error unless its first number is above head_number(), and what flush() throws; the
    /// record is then not in the log.
    void append(log_record next);

    /// Hands all blocks to the operating system. Throws out_of_space_error or io_error; the file
    /// then still ends with its last complete record and the blocks are still waiting.
    void flush();

    /// Flushes, waits until everything is on the device, and moves the mark. Throws what flush()
    /// throws, and io_error; damaged_error when after a failed sync the file is not what was
    /// written.
    void sync();

    /// sync(), closes the mark, saves the index, closes the file. Nothing else may be called
    /// afterwards.
    void close();

    /// Closes the file as it is and discards waiting blocks. No effect when it is closed.
    void abandon() noexcept;

    /// The number of the last block appended; nothing when the log is empty.
    [[nodiscard]] std::optional<std::uint64_t> head_number() const noexcept;
    /// Blocks appended, including the waiting ones.
    [[nodiscard]] std::uint64_t count() const noexcept { return index_.blocks() + batch_.blocks; }
    /// Bytes of the file, without waiting blocks.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return index_.log_bytes(); }

private:
    block_log_writer(file log, synced_mark_file mark, block_log_index index,
                     block_log_options options) noexcept;

    void close_mark() noexcept;
    void require_may_follow(std::uint64_t number) const;
    void write_record(const log_record& record);

    file log_;
    synced_mark_file mark_;
    block_log_index index_;
    block_log_options options_;
    record_batch batch_;
    std::uint64_t synced_;     ///< bytes that are on the device
    bool is_doubtful_ = false; ///< a sync of the other bytes failed
};

} // namespace chainbase
