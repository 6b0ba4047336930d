#pragma once

#include <chainbase/feed/follower.hpp>
#include <tools/python/opened.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace chainbase::python {

/// Follows a state for Python: feed::follower, by any thread, one at a time.
class following {
public:
    /// By a cursor, or from a revision on. Throws usage_error when `of` is no state but a
    /// checkpoint or a snapshot, and what feed::follower throws.
    following(const opened& of, const std::string& cursor);
    following(const opened& of, std::int64_t from);

    /// Calls use(follower&) while no other thread uses it. Throws what it throws.
    template <typename Use>
    auto with(Use&& use) {
        const std::lock_guard alone(mutex_);
        return use(follower_);
    }

    /// Begins, or begins anew, at the newest block, and returns that: the first entry changes what
    /// it shows. Throws busy_error when no node writes the feed.
    [[nodiscard]] std::shared_ptr<opened> begin();

private:
    std::string state_;
    std::mutex mutex_;
    feed::follower follower_;
};

} // namespace chainbase::python
