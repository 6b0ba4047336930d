#pragma once

#include <chainbase/feed/follower.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace chainbase::driver {

/// The state that a standby follows.
class followed_state {
public:
    followed_state() = default;
    followed_state(const followed_state&) = delete;
    followed_state& operator=(const followed_state&) = delete;
    virtual ~followed_state() = default;

    /// What is told of it. Throws what opening it throws.
    [[nodiscard]] virtual feed::follower& feed() = 0;

    enum class writer {
        works,  ///< or starts
        killed, ///< ended without closing the state
        ended,  ///< closed the state
    };
    [[nodiscard]] virtual writer look() = 0;
    /// Tells the feed of all completed blocks that a killed writer left untold, and keeps other
    /// writers out until this is destroyed. Throws locked_error when there is a writer, and what
    /// opening the state for writing throws.
    virtual void keep_writers_out() = 0;

    /// For messages.
    [[nodiscard]] virtual std::string name() const = 0;
};

/// A state on this machine, which the cursor `cursor` follows.
[[nodiscard]] std::unique_ptr<followed_state> follow_here(const std::filesystem::path& state,
                                                          const std::string& cursor);

} // namespace chainbase::driver
