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

/// Brings every block to storage soon after it ended: the writer copies what the block changed, a
/// thread appends that to a file and syncs it, with all blocks that ended meanwhile.
///
/// Blocks follow the checkpoint that was captured before them. What cannot be described block by
/// block (space that was given back, a new type, a failure of the disk) breaks the log off: it goes
/// on in a new run, with the next checkpoint.
///
/// Invariants:
///  1. Every run begins with a capture, and none of its blocks is missing.
///  2. A block counts as durable when a checkpoint of its run is published, and it and all blocks
///     from that checkpoint on are on storage.
///  3. After a sync that failed nothing more is appended to that run.
///  4. What the blocks rely on elsewhere is on storage before they are written: also what is not
///     synced may get there.
///
/// Thread-safety: was_published(), was_not_published(), so_far() in any thread, all else by the
/// writer.
class redo_log {
public:
    /// A block that no run goes on from: nobody knows what changed since the last checkpoint.
    static constexpr std::uint64_t nowhere = 0;

    /// What the two publications say of blocks.
    struct stand {
        std::uint64_t next = nowhere; ///< publication::redo of the newest
        redo_run newest = 0;          ///< that the newest names
        redo_run older = 0;           ///< that the older one names
        std::int64_t revision = 0;    ///< of the newest

        [[nodiscard]] static stand of(const published& found) noexcept;
    };

    /// In `folder`, of the state called `state`. When something changed since the newest checkpoint
    /// was captured, `from.next` is to be nowhere, and the first run begins with the next capture.
    /// Throws io_error. `before` is called before blocks are written.
    redo_log(disk& on, std::filesystem::path folder, const slot_file::identity& state,
             const address_space& addresses, undo_log& log, prior_sync& before, const stand& from);
    /// Writes what is waiting.
    ~redo_log();
    redo_log(const redo_log&) = delete;
    redo_log& operator=(const redo_log&) = delete;

    /// A block ended. Waits while more than 64 MiB of others are to be written.
    void block_ended() noexcept;
    /// A checkpoint of what is there was captured. Returns the first block that it does not have.
    std::uint64_t captured() noexcept;
    /// Whether blocks go to storage; else only a checkpoint brings them there.
    [[nodiscard]] bool is_whole() const noexcept { return !is_broken_ && !ranges_.is_lost(); }
    /// Whether they are durable there, too: the checkpoint that they follow is published.
    [[nodiscard]] bool is_anchored() const noexcept;
    /// Waits for all blocks that ended. Returns whether they are durable.
    bool wait_until_synced();

    /// The checkpoint that was captured last is on storage, and the newest one `now`.
    void was_published(const stand& now) noexcept;
    /// It is not, so a run that begins with it is of no use; nor is one that follows a checkpoint
    /// which is not the newest any more, since it was damaged.
    void was_not_published(const stand& now) noexcept;
    [[nodiscard]] redo_history so_far() const;

private:
    struct waiting {
        redo_block block;
        std::uint64_t first_of_file = 0;
    };

    void queue_block();
    void break_off() noexcept;
    std::unique_ptr<waiting> fresh();
    void run();
    bool take();
    void write();
    void open(std::uint64_t first);
    void remove_useless(redo_run but);
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
    std::vector<std::uint64_t> lengths_; ///< of files, by window, as they were told last
    std::uint64_t next_;
    std::uint64_t first_of_file_;
    std::atomic<bool> is_broken_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<waiting>> queue_;
    std::vector<std::unique_ptr<waiting>> spare_;
    std::uint64_t queued_bytes_ = 0; ///< those being written included
    std::uint64_t synced_ = nowhere; ///< the last block that is on storage
    std::int64_t synced_revision_ = 0;
    std::uint64_t anchor_ = nowhere; ///< first block after the newest checkpoint
    redo_run newest_ = 0;            ///< that the newest checkpoint names
    redo_run older_ = 0;             ///< that the one before names
    bool is_stopping_ = false;
    redo_history history_;

    // of the thread
    std::vector<std::unique_ptr<waiting>> taken_; ///< being written; it never grows
    std::unique_ptr<disk_file> file_;
    std::uint64_t file_first_ = nowhere;
    std::uint64_t seed_ = 0;
    std::uint64_t at_ = 0;       ///< where the next block goes
    std::uint64_t reserved_ = 0; ///< up to where there is room for sure
    std::vector<std::byte> buffer_;
    std::thread thread_;
};

} // namespace chainbase::checkpoint
