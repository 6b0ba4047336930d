#pragma once

#include <chainbase/feed/entry.hpp>
#include <chainbase/feed/feed_files.hpp>
#include <chainbase/object/schema.hpp>

#include <deque>
#include <filesystem>
#include <memory>
#include <string>

namespace chainbase {
class snapshot;
}

namespace chainbase::feed {

/// Reads what the writer of a state's feed tells (class writer), in any process, whether the node
/// runs or not, from where it was the last time.
///
///     feed::follower node("state", "balances");
///     if (node.is_new()) {
///         chainbase::snapshot begin("state");
///         node.begin_at(begin); // what follows changes what this snapshot shows
///     }
///     for (feed::entry one; node.next(one);) { ... }
///     node.keep(); // it does not come again
///
/// Thread-safety: one thread at a time; one object of each name.
class follower {
public:
    /// Takes up the cursor `name`, or makes it: from then on the node writes, and keeps what this
    /// has not read. `on` is for tests. Throws usage_error for a name that is none, what opening
    /// the state for reading throws, access_error for a state that this user may only read,
    /// io_error, damaged_error.
    follower(const std::filesystem::path& state, const std::string& name, disk* on = nullptr);
    /// Reads what the files have from the first entry of this revision or a later one on, which may
    /// not be there yet; nothing is kept for it. Throws too_far_behind_error when they have it no
    /// more, or not without a break, usage_error when nobody follows the state, and the same.
    follower(const std::filesystem::path& state, revision_number from, disk* on = nullptr);
    ~follower();
    follower(const follower&) = delete;
    follower& operator=(const follower&) = delete;

    /// The identity of the followed state. Requires that it has begun.
    [[nodiscard]] const checkpoint::slot_file::identity& state() const;
    /// Whether it has to begin at a snapshot: its cursor was made and has not begun yet.
    [[nodiscard]] bool is_new() const noexcept;
    /// Begins, or begins anew, at the block of a snapshot of the same state, and keeps that. Waits
    /// for the writer to tell of this block, while a process writes the state, for seconds at most.
    /// Throws busy_error when it did not (no node writes the feed, or the block was undone): try
    /// again with a new snapshot.
    void begin_at(const snapshot& at);

    /// The next entry. Returns false if there is none yet. Throws too_far_behind_error when the
    /// feed does not go on from here: then begin anew; damaged_error naming file and offset;
    /// usage_error when it is new.
    [[nodiscard]] bool next(entry& into);
    /// The types of the state, in the order of their numbers; more may come with next(), and
    /// schemas keep their addresses.
    [[nodiscard]] const std::deque<type_schema>& types() const noexcept;

    /// Behind the last entry. A follower that stores it together with what it made of the entries
    /// sees each of them exactly once: it goes there after a restart, and calls keep() only so that
    /// files are removed.
    [[nodiscard]] feed_position position() const noexcept;
    /// Of the state after the last entry.
    [[nodiscard]] revision_number revision() const noexcept;
    /// Goes on from a position that position() returned, of the same state and name. Throws
    /// usage_error when no entry begins there, too_far_behind_error, damaged_error.
    void go_to(feed_position at);
    /// Waits until its cursor, if it has one, says, on storage, that all entries until here need
    /// not come again.
    void keep();
    /// The same for all until `behind`, which position() returned; `at` is the revision there.
    void keep(feed_position behind, revision_number at);

private:
    class following;
    std::unique_ptr<following> following_;
};

} // namespace chainbase::feed
