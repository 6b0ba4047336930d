#pragma once

#include <archive/fwd.hpp>
#include <pool_allocator/base/process_of_origin.hpp>

#include <memory>

namespace chainbase::archive {

/// A batch on its way to a store, written by a thread of its own while its owner does other work.
///
///     start(batch) -> ... is_running() ... -> finish()
///
/// One batch at a time, all calls by one thread; the store outlives this. The thread begins with
/// the first batch, and ends, after the batch under way, with the object.
class background_write {
public:
    explicit background_write(store& rows) noexcept;
    ~background_write();
    background_write(const background_write&) = delete;
    background_write& operator=(const background_write&) = delete;

    /// Requires that every started batch was finished.
    void start(write_batch batch);
    /// Whether a batch was started and not yet finished.
    [[nodiscard]] bool is_started() const noexcept { return started_; }
    /// Whether finish() would wait.
    [[nodiscard]] bool is_running() const;
    /// Waits until the batch is written. Throws what store::write threw: then nothing of it is
    /// written.
    void finish();

private:
    class writer; // the thread and what it shares with the owner's

    process_of_origin origin_;
    store& rows_;
    bool started_ = false;
    std::unique_ptr<writer> writer_; ///< from the first batch on
};

} // namespace chainbase::archive
