#pragma once

#include <chainbase/feed/feed_files.hpp>
#include <tools/driver/sync/messages.hpp>
#include <tools/driver/sync/other_writer.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::driver {

/// A message that ends a client's connection.
class refusal_error : public error {
public:
    refusal_error(wire::refusal_reason why, const std::string& what) : error(what), why_(why) {}
    [[nodiscard]] wire::refusal_reason why() const noexcept { return why_; }

private:
    wire::refusal_reason why_;
};

/// The feed of a state of this machine, offered to standbys on others. It is not the process that
/// writes the state, and outlives a kill of that one.
///
/// Invariants: (1) cursors of clients have names of their own (`remote-NAME`): no client moves the
/// cursor of a follower on this machine; (2) there are at most `most_clients` of them; (3) the
/// state is taken from its writer only where that is gone, and `may_take_over`; once that was done
/// it stays so until this is destroyed.
///
/// For one thread.
class served_feed {
public:
    /// The cursor that keeps what follows the offered snapshot (standby/beginning.hpp).
    static constexpr const char* cursor_of_snapshot = "serve";
    static constexpr std::size_t most_clients = 64;

    served_feed(const std::filesystem::path& state, bool may_take_over);

    [[nodiscard]] bool may_take_over() const noexcept { return may_take_over_; }
    /// What the state's `superseded` calls a client that took its place.
    [[nodiscard]] static std::string successor(const std::string& client);

private:
    friend class outgoing_feed;

    [[nodiscard]] feed::feed_head& head();
    [[nodiscard]] wire::feed_writer writer(const std::string& as_told_to);
    [[nodiscard]] feed::feed_cursor cursor_for(const feed_request_message& asked);
    void note_successor();
    void take_over(const std::string& client);
    /// Marks the state as one whose place this client took, if it did: it has all of it.
    void pass_on(const std::string& client);
    /// Of the state, once its writers are kept out here; -1: they were by an earlier process, and
    /// the feed tells of all.
    [[nodiscard]] revision_number newest_revision() const {
        return keeps_out_ ? writer_.revision() : -1;
    }

    disk& on_;
    std::filesystem::path folder_;
    other_writer writer_;
    bool may_take_over_;
    std::optional<feed::feed_head> head_; ///< when a node has written the feed
    std::chrono::steady_clock::time_point next_look_{};
    wire::feed_writer seen_ = wire::feed_writer::works;
    std::string taken_by_;   ///< successor() of who took over, or its path on this machine
    bool keeps_out_ = false; ///< writers, in this process
    bool is_passed_on_ = false;
};

/// The feed on its way to one client: the bytes of its files, from the client's place on, up to
/// where followers may read.
class outgoing_feed {
public:
    /// `from` outlives it. Throws refusal_error when there is no feed, or it does not go on from
    /// where the client is; peer_error for a name that is none, io_error, damaged_error.
    outgoing_feed(served_feed& from, const feed_request_message& asked);

    [[nodiscard]] const std::string& client() const noexcept { return client_; }
    /// The next frame: bytes, as soon as there are some; the state of the feed, first of all, when
    /// its writer changed, and after `silence`. Returns nothing when no frame is due yet. Throws
    /// refusal_error when files were removed that the client lacks, io_error, damaged_error.
    [[nodiscard]] std::optional<bytes> next_frame(std::chrono::milliseconds silence);
    /// Sets the client's cursor, at once or with a later frame, and lets the client take over.
    /// Throws peer_error for a place that it cannot have, refusal_error when it may not take over.
    void take(const feed_keep_message& said);

private:
    using clock = std::chrono::steady_clock;

    [[nodiscard]] bool open_file();
    [[nodiscard]] std::optional<bytes> next_part(feed::feed_position end);
    void keep();

    served_feed& from_;
    std::string client_;
    feed::feed_cursor cursor_;
    feed::feed_position at_;
    feed::feed_position first_ = 0; ///< of the file
    std::unique_ptr<disk_file> file_;
    feed_state_message told_;
    clock::time_point told_at_{};
    std::optional<feed::feed_cursor::state> kept_; ///< not in the cursor yet
    clock::time_point next_keep_{};
};

} // namespace chainbase::driver
