#pragma once

#include <chainbase/feed/feed_files.hpp>
#include <pool_allocator/base/process_of_origin.hpp>

#include <cstdint>
#include <memory>

namespace chainbase {
class database;
}

namespace chainbase::feed {

/// How a writer keeps the files of the feed.
struct writer_options {
    /// Of all files; beyond that the oldest are removed, even if a follower is not done with them.
    std::uint64_t most_bytes = std::uint64_t{1} << 30;
    std::uint64_t file_bytes = std::uint64_t{64} << 20; ///< about, of one
    disk* on = nullptr; ///< where they are; null: the operating system's files
};

/// What a writer has done, and how far behind others are.
struct writer_statistics {
    bool is_followed = false; ///< else nothing is written
    std::uint64_t blocks = 0; ///< written since it was made
    std::uint64_t bytes = 0;
    std::uint64_t begins = 0;  ///< of series that do not continue what is before
    feed_position end = 0;     ///< behind the last entry
    feed_position durable = 0; ///< up to where followers may read
    std::string last_failure;  ///< empty when it writes
};

/// Writes the feed of a state that is open for writing, as long as it has a cursor, for followers
/// in any process (class follower), in a thread of its own. README.md says what is never lost.
///
/// The state waits for it: a commit, until what becomes irreversible is written; a checkpoint or a
/// block of the redo log, until what it has is on storage here. A full disk ends the series, not
/// the node; what follows begins a new one when there is room again.
///
/// Thread-safety: made and destroyed by the thread that writes, between operations; so_far() in any
/// thread. A forked process cannot use it.
class writer {
public:
    /// Requires that `of` is open for writing, and that nothing was changed since it was opened,
    /// else followers may have to begin anew; this is destroyed before it is closed or destroyed.
    /// What the feed has is compared with the state first. Throws usage_error, locked_error when
    /// another writer is alive, io_error, out_of_space_error, and for files of a feed that are not
    /// of this state usage_error, format_error, damaged_error.
    explicit writer(database& of, const writer_options& how = {});
    /// Writes what is left.
    ~writer();
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;

    /// Ends as a kill would: once destroyed, what was not told yet is not written.
    void abandon() noexcept;

    [[nodiscard]] writer_statistics so_far() const;

private:
    class writing;
    process_of_origin origin_;
    std::unique_ptr<writing> writing_;
};

} // namespace chainbase::feed
