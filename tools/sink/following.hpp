#pragma once

#include <chainbase/feed/follower.hpp>
#include <tools/sink/bootstrap.hpp>
#include <tools/sink/changes.hpp>
#include <tools/sink/databases.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::sink {

/// Keeps databases as a state is: bootstraps them if need be, and applies what its feed tells.
///
/// One thread. README.md says what it guarantees.
class following {
public:
    struct options {
        sink_options sink;
        bool is_once = false; ///< ends when the databases have what is there
        /// Where the feed does not go on from where the databases are, begins anew; else
        /// too_far_behind_error.
        bool begins_again = false;
    };
    /// What was done, at the end.
    struct report {
        std::uint64_t bootstraps = 0;
        std::uint64_t blocks = 0;
        std::uint64_t pops = 0;
        std::uint64_t rows = 0;         ///< changed by these
        std::uint64_t transactions = 0; ///< in each database
        revision_number revision = 0;
        bool has_feed = true;
    };

    /// `is_over`: asked now and then, from several threads; then run() ends as soon as nothing is
    /// half done.
    following(options asked, std::function<bool()> is_over);

    /// Throws what reading the state and its feed and what the databases throw; interrupted_error
    /// when it was over before the rows were those of a block.
    report run();

private:
    void prepare();
    [[nodiscard]] bool is_ready() const;
    [[nodiscard]] bool is_current() const;
    void follow();
    void begin_anew(feed::follower& from);
    void copy_without_feed();
    [[nodiscard]] std::string try_to_begin(feed::follower& from);
    void require_place(feed::feed_position at) const;
    void start(feed::follower& from);
    [[nodiscard]] static bool next(feed::follower& from, feed::entry& into);
    void go_on(feed::follower& from);
    void end(feed::follower& from);
    [[nodiscard]] bool has_rows() const;
    [[nodiscard]] bool has_gathered_enough() const;
    void take(feed::follower& from, const feed::entry& one);
    void note(const feed::entry& one, feed::feed_position behind);
    void reach(feed::feed_position behind);
    void require_known(const feed::entry& pop) const;
    void send();
    void send_and_wait();
    void keep(feed::follower& from);
    void note_lag() const;

    options asked_;
    std::function<bool()> is_over_;
    known_tables tables_;
    databases to_;
    state_description state_;
    report done_;

    std::vector<changes> gathered_;          ///< for each database
    cursor here_;                            ///< behind the last entry that was gathered
    std::vector<feed::feed_position> ahead_; ///< of each, what it had at the start
    feed::feed_position ready_at_ = 0;
    std::deque<std::pair<revision_number, std::uint32_t>> blocks_; ///< told, newest last
    bool is_sent_ = true; ///< all that was gathered, with `here_`
    std::chrono::steady_clock::time_point next_keep_{};
    std::chrono::steady_clock::time_point all_applied_ = std::chrono::steady_clock::now();
};

/// A name for a cursor that follows into these databases: "sink-" and eight digits.
[[nodiscard]] std::string cursor_name(const sink_options& asked);

} // namespace chainbase::sink
