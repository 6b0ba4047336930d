#pragma once

#include <pool_allocator/process_of_origin.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace chainbase::checkpoint {

/// What has to be on storage before what relies on it gets there: rows of an archive, before a
/// checkpoint or a block of the redo log that has let go of their objects.
///
/// Thread-safe; parts that end in a fork of the process do nothing. In a std::shared_ptr: who has
/// added a part may outlive the state.
class prior_sync : public std::enable_shared_from_this<prior_sync> {
public:
    /// `how` is called from here on, in any thread, until the result is destroyed. That waits for a
    /// call under way and then calls it a last time; if this one throws, so does every call() from
    /// then on, since nobody is left to bring to storage what the state relies on.
    /// An `owner` that has a part already gets that one, and `how` is dropped. `how` must not add
    /// parts or destroy them.
    [[nodiscard]] std::shared_ptr<void> add(std::function<void()> how, const void* owner = nullptr);
    /// Throws what the first part throws that fails.
    void call();
    /// Nothing is called any more, nor a last time: nothing will come to storage.
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
