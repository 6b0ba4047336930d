#pragma once

#include <pool_allocator/base/process_of_origin.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace chainbase::checkpoint {

/// Data that must be on storage before anything that relies on it: rows of an archive, before a
/// checkpoint or redo-log block in which their objects have left memory.
///
/// Thread-safe; parts destroyed in a forked process do nothing. Held by std::shared_ptr, since the
/// owner of a part may outlive the state.
class prior_sync : public std::enable_shared_from_this<prior_sync> {
public:
    /// From here on `how` is called, in any thread, until the result is destroyed. Destroying it
    /// waits for a running call and then calls `how` a last time; if that throws, so does every
    /// later call(), since nobody is left to sync what the state relies on. An `owner` that already
    /// has a part gets that part, and `how` is dropped. `how` must not add or destroy parts.
    [[nodiscard]] std::shared_ptr<void> add(std::function<void()> how, const void* owner = nullptr);
    /// Syncs all parts. Throws what the first failing part throws.
    void call();
    /// Stops all calls, including last calls: nothing more will be written to storage.
    void end() noexcept;

private:
    struct part;

    void leave(const part& one) noexcept;

    process_of_origin origin_;
    std::mutex mutex_;
    std::vector<part*> parts_;
    std::exception_ptr lost_; ///< what the last call of a part threw
    bool is_ended_ = false;
};

} // namespace chainbase::checkpoint
