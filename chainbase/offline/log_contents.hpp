#pragma once

#include <undo/undo_log.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace chainbase {

/// Access to the positions of a log for outside readers: undo_log_view keeps it protected, since it
/// follows positions without checking them.
struct log_walk : undo_log_view {
    using undo_log_view::chunk_begin, undo_log_view::chunk_header, undo_log_view::chunk_of,
        undo_log_view::completed, undo_log_view::first_record, undo_log_view::header_of,
        undo_log_view::mark_at, undo_log_view::words;
    using undo_log_view::undo_log_view;

    /// Bytes of the log between two positions in chunks in use, `from` being the older one.
    [[nodiscard]] std::uint64_t distance(log_position from, log_position to) const noexcept {
        const std::uint64_t chunks =
            header_of(chunk_of(to)).sequence - header_of(chunk_of(from)).sequence;
        return chunks * chunk_bytes + (to - chunk_begin(chunk_of(to))) -
               (from - chunk_begin(chunk_of(from)));
    }
};

/// The records of a part of the log for one window. Objects are counted once each, net of what
/// cancels out; in a window that holds none there are none.
struct logged_window {
    std::uint32_t window = 0; ///< its index
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;               ///< of the records, trailers included
    std::uint64_t created = 0;             ///< not there before, there after
    std::uint64_t modified = 0;            ///< there before and after
    std::uint64_t removed = 0;             ///< there before, not after
    std::uint64_t created_and_removed = 0; ///< neither

    [[nodiscard]] std::uint64_t objects() const noexcept {
        return created + modified + removed + created_and_removed;
    }
};

/// What lies between two places of the log.
///
/// Invariant: bytes = the bytes of `windows` + mark_bytes + unused_bytes; records = those of
/// `windows` + marks.
struct logged_part {
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    std::uint64_t marks = 0; ///< its own, if it is a session, and of those squashed into it
    std::uint64_t mark_bytes = 0;
    std::uint64_t unused_bytes = 0;     ///< headers of chunks, and ends that no record fitted into
    std::vector<logged_window> windows; ///< by index
};

/// A session that can be undone: from its mark to the next one's, or to where the log is complete.
struct logged_session {
    revision_number revision = 0;
    bool is_open = false; ///< not pushed: an opening after a kill undoes it, and those above it
    logged_part part;
};

/// Everything that a log holds, session by session: which objects each changed, and what that
/// costs. Only reads, and only when it is made; takes time and memory in proportion to the log.
///
/// Invariant: the bytes of all sessions and of the operation are bytes_in_use() while there is a
/// session.
class log_contents : private log_walk {
public:
    /// `file` is the log's window, of which log_check found everything sound
    /// (require_all_records), and which nobody changes meanwhile. `window_bytes` is the distance of
    /// two windows.
    log_contents(const window& file, std::uint64_t window_bytes);

    /// The oldest first.
    [[nodiscard]] const std::vector<logged_session>& sessions() const noexcept { return sessions_; }
    /// Whether an operation is under way: an opening after a kill takes it back.
    [[nodiscard]] bool has_operation() const noexcept { return operation_.bytes != 0; }
    [[nodiscard]] const logged_part& operation() const noexcept { return operation_; }

private:
    class reader;

    void read_operation();
    void read_sessions();

    std::byte* base_;
    std::uint64_t window_bytes_;
    std::vector<logged_session> sessions_;
    logged_part operation_;
};

} // namespace chainbase
