#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace chainbase::checkpoint {

/// What has to be on storage before what relies on it gets there: rows of an archive, before a
/// checkpoint or a block of the redo log that has let go of their objects. Thread-safe.
class prior_sync {
public:
    /// `how` is called from here on; null: nothing. Waits for a call of the one before.
    void set(std::function<void()> how) {
        const std::lock_guard lock(mutex_);
        how_ = std::move(how);
    }
    /// Throws what it throws.
    void call() {
        const std::lock_guard lock(mutex_);
        if (how_) how_();
    }

private:
    std::mutex mutex_;
    std::function<void()> how_;
};

} // namespace chainbase::checkpoint
