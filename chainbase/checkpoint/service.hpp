#pragma once

#include <chainbase/checkpoint/checkpointer.hpp>
#include <chainbase/checkpoint/redo_log.hpp>
#include <undo/undo_log.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace chainbase::checkpoint {

/// Makes checkpoints while a segment is written: captures at the ends of the writer's blocks, and
/// writes in a thread of its own.
///
/// A failed checkpoint is logged once and leaves the disk's checkpoints unchanged; the writer goes
/// on, and the next one is due after the interval.
///
/// Thread-safety: all calls by the writer, except so_far().
class service final : public block_boundary {
public:
    /// `source` describes the segment at a capture. `log` notifies this at the end of each block.
    /// Each checkpoint calls `before` in its thread before it is published, and fails with what
    /// that throws. `redo`, if not null, writes the blocks between checkpoints to storage.
    service(checkpointer& of, std::function<checkpointer::source()> source, undo_log& log,
            const schedule& when, prior_sync& before, std::unique_ptr<redo_log> redo);
    /// Waits for the checkpoint under way.
    ~service();

    /// Makes a checkpoint of the present state and waits until it is published. Requires that no
    /// operation runs. Throws what checkpointer::write throws.
    outcome now();

    /// Waits until all ended blocks are on storage, through the redo log if it has them, else
    /// through a checkpoint. Requires that no operation runs. Throws what now() throws.
    void wait_until_durable();

    /// Waits for the checkpoint under way.
    void wait_until_idle();

    [[nodiscard]] history so_far() const;

    void reached() noexcept override;

private:
    enum class phase { idle, captured, stopping };

    [[nodiscard]] bool is_due() noexcept;
    void capture();
    void run();
    void write_captured();
    void notify_redo_log() noexcept;
    void tell(const char* problem) noexcept;

    checkpointer& checkpointer_;
    std::function<checkpointer::source()> source_;
    undo_log& log_;
    schedule when_;
    prior_sync& before_;
    std::unique_ptr<redo_log> redo_;
    std::uint64_t blocks_ = 0; ///< since the last capture
    std::chrono::steady_clock::time_point captured_at_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<phase> phase_ = phase::idle;
    std::atomic<bool> is_outdated_ = false;         ///< last capture obsolete, next one due at once
    std::atomic<bool> is_awaited_ = false;          ///< by now()
    std::atomic<std::uint64_t> without_memory_ = 0; ///< captures that failed for lack of memory
    std::exception_ptr failure_;                    ///< of the last one
    history history_;
    std::thread thread_;
};

} // namespace chainbase::checkpoint
