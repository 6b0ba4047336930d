#pragma once

#include <chainbase/feed/follower.hpp>
#include <tools/driver/sync/other_writer.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::driver {

struct standby_options;

/// The state that a standby follows.
class followed_state {
public:
    followed_state() = default;
    followed_state(const followed_state&) = delete;
    followed_state& operator=(const followed_state&) = delete;
    virtual ~followed_state() = default;

    /// What is told of it. Throws what opening it throws; of a state on another machine
    /// interrupted_error when a signal comes before that has answered.
    [[nodiscard]] virtual feed::follower& feed() = 0;
    /// All entries until `behind` need not come again; `at` is the revision there.
    virtual void keep(feed::feed_position behind, revision_number at) = 0;

    /// Nothing where that is not known: another machine is not reached. Throws what keeps the feed
    /// from going on.
    [[nodiscard]] virtual std::optional<other_writer::condition> look() = 0;
    /// Lets feed() tell of all completed blocks that a killed writer left untold, and keeps other
    /// writers out until this is destroyed. Returns false when a signal came first. Throws
    /// locked_error when there is a writer, or another standby has taken over, damaged_error when
    /// the state cannot be opened, and what opening it for writing throws.
    [[nodiscard]] virtual bool keep_writers_out() = 0;
    /// Of its newest block; nothing if that is not known. Requires keep_writers_out().
    [[nodiscard]] virtual std::optional<revision_number> newest_revision() const {
        return std::nullopt;
    }

    /// Marks it as one whose place was taken by who follows it, which has all of it, and ends its
    /// feed with that. Returns false when it is not known whether that was done: a signal came, or
    /// the connection was lost. Requires keep_writers_out(). Throws what writing to its folder
    /// throws.
    [[nodiscard]] virtual bool pass_on() = 0;
    /// What that mark calls who follows it.
    [[nodiscard]] virtual std::string successor() const = 0;
    /// Whether that mark is there, now that the feed ended with these words. Returns false after a
    /// signal.
    [[nodiscard]] virtual bool is_passed_on() = 0;
    /// Nothing more is asked of it; a state on another machine has its mark here from now on.
    virtual void keep_mark() {}
    /// Who took its place before this call; nothing if nobody did.
    /// Throws usage_error when the followed state was given its place again.
    [[nodiscard]] virtual std::optional<std::string> superseded_by() = 0;

    /// For messages.
    [[nodiscard]] virtual std::string name() const = 0;
};

/// The state `how.of` of this machine.
[[nodiscard]] std::unique_ptr<followed_state> follow_here(const standby_options& how);

/// The state whose feed `how.from` serves (sync/serve.hpp). What comes is mirrored in
/// `how.state`.feed by a thread, which connects again, with pauses, until this is destroyed.
/// `how` outlives it. Throws locked_error when another process has that folder, io_error.
[[nodiscard]] std::unique_ptr<followed_state> follow_from_server(const standby_options& how);

} // namespace chainbase::driver
