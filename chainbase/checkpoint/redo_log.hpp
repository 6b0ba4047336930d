#pragma once

#include <chainbase/checkpoint/outcome.hpp>
#include <chainbase/checkpoint/prior_sync.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/checkpoint/redo_files.hpp>
#include <pool_allocator/page_tracker.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace chainbase {
class address_space;
class undo_log;
} // namespace chainbase

namespace chainbase::checkpoint {

/// Writes every block to storage soon after it ends: the writer copies the block's changes, a
/// thread appends them to a file and syncs it together with all blocks that ended in the meantime
/// (group commit).
///
/// Blocks follow the checkpoint that was captured before them. A change that cannot be described as
/// a block (space given back, a new type) or a disk failure ends the run; a new run begins with the
/// next checkpoint.
///
/// Invariants:
///  1. Every run begins with a capture and has no gap.
///  2. A block counts as durable when a checkpoint of its run is published, and it and all blocks
///     from that checkpoint on are on storage.
///  3. After a failed sync nothing more is appended to that run.
///  4. Everything that blocks rely on elsewhere is on storage before they are written, since
///     unsynced writes may reach storage, too.
///
/// Thread-safety: was_published(), was_not_published(), so_far() in any thread, all else by the
/// writer.
class redo_log {
public:
    /// No block: the changes since the last checkpoint are unknown, so no run continues.
    static constexpr std::uint64_t no_block = 0;

    /// The redo-log positions in the two publications.
    struct published_blocks {
        std::uint64_t next = no_block; ///< publication::redo of the newest
        redo_run newest = 0;           ///< run named by the newest
        redo_run older = 0;            ///< run named by the older one
        std::int64_t revision = 0;     ///< of the newest

        [[nodiscard]] static published_blocks of(const published& found) noexcept;
    };

    /// In `folder`, for the state with the identity `state`. If anything changed since the newest
    /// checkpoint was captured, `from.next` must be no_block, and the first run begins with the
    /// next capture. Calls `before` before blocks are written. Throws io_error.
    redo_log(disk& on, std::filesystem::path folder, const slot_file::identity& state,
             const address_space& addresses, undo_log& log, prior_sync& before,
             const published_blocks& from);
    /// Writes the waiting blocks.
    ~redo_log();
    redo_log(const redo_log&) = delete;
    redo_log& operator=(const redo_log&) = delete;

    /// Queues the block that ended. Waits while more than 64 MiB of blocks are queued.
    void block_ended() noexcept;
    /// Called when a checkpoint of the present state was captured. Returns the first block after
    /// it.
    std::uint64_t captured() noexcept;
    /// Whether blocks are written; else only a checkpoint makes them durable.
    [[nodiscard]] bool is_whole() const noexcept { return !is_abandoned_ && !ranges_.is_lost(); }
    /// Whether written blocks are durable: the checkpoint that they follow is published.
    [[nodiscard]] bool is_anchored() const noexcept;
    /// Waits until all ended blocks are synced. Returns whether they are durable.
    bool wait_until_synced();

    /// Called when the last captured checkpoint is on storage; `now` has it as the newest.
    void was_published(const published_blocks& now) noexcept;
    /// Called when it failed: the run that begins with it is dropped, and so is one that follows a
    /// damaged checkpoint that is no longer the newest.
    void was_not_published(const published_blocks& now) noexcept;
    [[nodiscard]] redo_history so_far() const;

private:
    struct waiting {
        redo_block block;
        std::uint64_t first_of_file = 0;
        std::uint32_t serial = 0; ///< of the log at its end
    };

    void queue_block();
    void abandon_run() noexcept;
    std::unique_ptr<waiting> fresh();
    void run();
    bool take();
    void write();
    void open(std::uint64_t first);
    void remove_unpublished_runs(redo_run but);
    void begin_file(std::uint64_t first);
    void discard(const std::filesystem::path& file) noexcept;
    void flush();
    void mark_end(std::uint64_t synced);
    void fail(redo_run of, const char* problem) noexcept;

    disk& on_;
    std::filesystem::path folder_;
    slot_file::identity state_;
    const address_space& addresses_;
    undo_log& log_;
    prior_sync& before_;

    // of the writer
    changed_ranges ranges_;
    std::vector<std::uint64_t> lengths_; ///< of files, by window, as last recorded
    std::uint64_t next_;
    std::uint64_t first_of_file_;
    std::atomic<bool> is_abandoned_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<waiting>> queue_;
    std::vector<std::unique_ptr<waiting>> spare_;
    std::uint64_t queued_bytes_ = 0;  ///< including those being written
    std::uint64_t synced_ = no_block; ///< the last block that is on storage
    std::int64_t synced_revision_ = 0;
    std::uint32_t synced_serial_ = 0;
    std::uint32_t captured_serial_ = 0; ///< of the last checkpoint
    std::uint64_t anchor_ = no_block;   ///< first block after the newest checkpoint
    redo_run newest_ = 0;               ///< run named by the newest checkpoint
    redo_run older_ = 0;                ///< run named by the one before
    bool is_stopping_ = false;
    redo_history history_;

    // of the thread
    std::vector<std::unique_ptr<waiting>> taken_; ///< being written; it never grows
    std::unique_ptr<disk_file> file_;
    std::uint64_t file_first_ = no_block;
    std::uint64_t seed_ = 0;
    std::uint64_t at_ = 0;       ///< where the next block goes
    std::uint64_t reserved_ = 0; ///< up to which space is reserved
    std::vector<std::byte> buffer_;
    std::thread thread_;
};

} // namespace chainbase::checkpoint
