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

/// Makes checkpoints while a segment is written: captures where the writer's blocks end, and writes
/// in a thread of its own.
///
/// One that fails is reported once, the state goes on, and the next one is due after the interval:
/// what is on the disk stays what it was.
///
/// Thread-safety: all calls by the writer, but for so_far().
class service final : public block_boundary {
public:
    /// `source` describes the segment at a capture. `log` calls at the end of each block. `before`
    /// is called by each checkpoint, in its thread, before it is published: what it throws is the
    /// checkpoint's failure. `redo` brings the blocks between checkpoints to storage, if it is not
    /// null.
    service(checkpointer& of, std::function<checkpointer::source()> source, undo_log& log,
            const rhythm& when, prior_sync& before, std::unique_ptr<redo_log> redo);
    /// Waits for the checkpoint under way.
    ~service();

    /// Makes a checkpoint of what is there now and waits until it is published. Requires no
    /// operation. Throws what checkpointer::write throws.
    outcome now();

    /// Waits until all blocks that ended are on storage: by the redo log if they are there, else by
    /// a checkpoint. Requires no operation. Throws what now() throws.
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
    void tell_redo_log() noexcept;
    void tell(const char* problem) noexcept;

    checkpointer& checkpointer_;
    std::function<checkpointer::source()> source_;
    undo_log& log_;
    rhythm when_;
    prior_sync& before_;
    std::unique_ptr<redo_log> redo_;
    std::uint64_t blocks_ = 0; ///< since the last capture
    std::chrono::steady_clock::time_point captured_at_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<phase> phase_ = phase::idle;
    std::atomic<bool> is_outdated_ = false; ///< the last capture: another one is due at once
    std::atomic<std::uint64_t> without_memory_ = 0; ///< captures that failed
    std::exception_ptr failure_;                    ///< of the last one
    history history_;
    std::thread thread_;
};

} // namespace chainbase::checkpoint
