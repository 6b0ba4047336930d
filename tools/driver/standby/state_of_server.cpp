#include <chainbase/segment/state_opening.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/standby/feed_mirror.hpp>
#include <tools/driver/standby/followed_state.hpp>
#include <tools/driver/standby/standby.hpp>
#include <tools/driver/sync/peer_connection.hpp>
#include <tools/driver/sync/served_feed.hpp>
#include <tools/message_limit.hpp>

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace chainbase::driver {

namespace {

using condition = other_writer::condition;
using feed::feed_position;
using severity = peer_error::severity;
using wire::feed_writer;

/// How often a signal is looked for by who waits for the server.
constexpr std::chrono::milliseconds between_signal_checks{50};
/// How long a server is waited for that may know better than a mark.
constexpr std::chrono::seconds answer_patience{1};

/// The state that a server's feed tells of.
///
///     network thread: connection -> feed_mirror        applying thread: feed::follower of that
///                     what the server says -> told_                     look(), keep_writers_out()
///
/// Invariant: that the writer is gone is known only from what the server says over the connection
/// that there is.
class state_of_server final : public followed_state {
public:
    explicit state_of_server(const standby_options& how)
        : how_(how), server_("standby's server " + in_words(*how.from)),
          folder_(how.state.string() + ".feed"), is_new_(!chain_state::is_in(how.state)),
          mirror_(folder_, is_new_), mirrored_(mirror_.end()), has_begun_(mirror_.has_begun()),
          thread_([this] { work(); }) {}
    ~state_of_server() override {
        {
            const std::lock_guard held(mutex_);
            end();
        }
        thread_.join();
    }

    [[nodiscard]] feed::follower& feed() override {
        if (feed_) return *feed_;
        if (!wait_for([this] { return has_begun_; }))
            throw interrupted_error(
                "interrupted before the " + server_ +
                " has answered; nothing was changed, and the same call goes on");
        return feed_.emplace(folder_, how_.cursor);
    }
    void keep(feed_position behind, revision_number at) override {
        feed_->keep(behind, at);
        feed_mirror::prune(folder_, behind);
        const std::lock_guard held(mutex_);
        wanted_.place = behind;
        wanted_.revision = at;
        say_what_is_wanted();
    }
    [[nodiscard]] std::optional<condition> look() override {
        const std::lock_guard held(mutex_);
        if (failure_) std::rethrow_exception(failure_);
        if (!told_) return std::nullopt;
        if (told_->writer == feed_writer::works || told_->writer == feed_writer::taken)
            return condition::works;
        return told_->writer == feed_writer::ended ? condition::ended : condition::killed;
    }
    [[nodiscard]] bool keep_writers_out() override {
        {
            const std::lock_guard held(mutex_);
            wanted_.takes_over = true;
            say_what_is_wanted();
        }
        const bool is_over = wait_for([this] { return !wanted_.takes_over || is_all_here(); });
        const std::lock_guard held(mutex_);
        if (told_ && told_->writer == feed_writer::lost)
            throw damaged_error(server_ + ": the followed state cannot be opened, which its serve "
                                          "tells more of");
        return is_over && is_all_here();
    }
    [[nodiscard]] std::optional<revision_number> newest_revision() const override {
        const std::lock_guard held(mutex_);
        return told_ && told_->revision >= 0 ? std::optional(told_->revision) : std::nullopt;
    }
    /// The server marks it when it hears that all is here, and then ends the feed. The mark is kept
    /// here as well, so that this is known where the server is gone.
    [[nodiscard]] bool pass_on() override {
        feed_position all = 0;
        {
            const std::lock_guard held(mutex_);
            wanted_.place = all = mirrored_;
            wanted_.revision = feed_->revision();
            say_what_is_wanted();
        }
        if (!wait_for(
                [&] { return mirrored_ > all || !told_ || told_->writer == feed_writer::lost; }))
            return false;
        const std::lock_guard held(mutex_);
        return mirrored_ > all;
    }
    [[nodiscard]] bool is_passed_on() override {
        if (!wait_for([this] { return told_.has_value(); })) return false;
        const std::lock_guard held(mutex_);
        return told_ && told_->writer == feed_writer::kept_out && mirrored_ >= told_->end;
    }
    void keep_mark() override {
        supersede(feed::feed_folder(folder_), successor());
        const std::lock_guard held(mutex_);
        end();
    }
    [[nodiscard]] std::string successor() const override {
        return served_feed::successor(how_.cursor);
    }
    /// By the mark that is here; a server that can be reached has to agree.
    [[nodiscard]] std::optional<std::string> superseded_by() override {
        const auto by = chainbase::superseded_by(feed::feed_folder(folder_));
        if (!by) return std::nullopt;
        const auto until = std::chrono::steady_clock::now() + answer_patience;
        (void)wait_for([&] { return told_ || std::chrono::steady_clock::now() > until; });
        const std::lock_guard held(mutex_);
        if (told_ && told_->writer != feed_writer::kept_out)
            throw usage_error(fmt::format("{}: took the place of the state that {} serves, which "
                                          "was given that again; move the one away that is given "
                                          "up",
                                          how_.state.string(), name()));
        return by;
    }
    [[nodiscard]] std::string name() const override { return in_words(*how_.from); }

private:
    using lock = std::unique_lock<std::mutex>;

    /// Returns false when a signal came first.
    template <typename Holds>
    [[nodiscard]] bool wait_for(Holds holds) {
        lock held(mutex_);
        while (!holds()) {
            if (failure_) std::rethrow_exception(failure_);
            if (catch_interruption::caught()) return false;
            changed_.wait_for(held, between_signal_checks);
        }
        return true;
    }
    /// The mutex is held.
    void end() {
        is_ending_ = true;
        changed_.notify_all();
        if (connection_) boost::asio::post(*context_, [one = connection_] { one->cancel(); });
    }
    /// The mutex is held.
    [[nodiscard]] bool is_all_here() const {
        return told_ && mirrored_ >= told_->end &&
               (told_->writer == feed_writer::kept_out || told_->writer == feed_writer::lost);
    }
    /// The mutex is held.
    void say_what_is_wanted() {
        if (!told_) return; // when it is connected
        boost::asio::post(*context_, [this] {
            const std::lock_guard held(mutex_);
            connection_->send_beside(framed(wanted_));
        });
    }

    // --- in the network thread ---

    void work() {
        try {
            while (!must_end()) {
                try {
                    follow();
                } catch (const peer_error& problem) {
                    if (must_end()) return;
                    note_failure(problem);
                }
                pause();
            }
        } catch (...) { // a full disk, or what it makes no sense to try again
            const std::lock_guard held(mutex_);
            failure_ = std::current_exception();
            changed_.notify_all();
        }
    }
    /// Throws it when the server is given up.
    void note_failure(const peer_error& problem) {
        ++failures_;
        if (problem.how() == severity::fault) ++faults_;
        const auto& limits = how_.network;
        if (problem.how() == severity::lasting || faults_ >= limits.faulty_attempts ||
            (limits.attempts != 0 && failures_ >= limits.attempts))
            throw;
        warnings_.say(message_limit::level::warning,
                      std::string(problem.what()) +
                          "; it is tried again, and nothing is taken over before it says how the "
                          "followed state is");
    }
    void pause() {
        const auto doubled = how_.network.pause * (1 << std::min(std::max(failures_, 1U) - 1, 20U));
        lock held(mutex_);
        changed_.wait_for(held, std::min(doubled, how_.network.longest_pause),
                          [&] { return is_ending_; });
    }
    [[nodiscard]] bool must_end() {
        const std::lock_guard held(mutex_);
        return is_ending_;
    }

    void follow() {
        boost::asio::io_context context{1};
        peer_connection with(context, *how_.from, how_.network.limits, received_);
        struct registration {
            state_of_server& of;
            ~registration() {
                const std::lock_guard held(of.mutex_);
                of.connection_ = nullptr;
                of.told_.reset();
            }
        } const registered{*this};
        {
            const std::lock_guard held(mutex_);
            if (is_ending_) return;
            connection_ = &with;
            context_ = &context;
        }
        with.connect();
        require_offers(with, with.greet(""));
        feed_request_message asked{how_.cursor, mirror_.state(), wire::feed_begin::cursor, 0};
        if (const auto place = mirror_.resume()) {
            asked.begin = wire::feed_begin::place;
            asked.place = *place;
        } else if (is_new_) {
            asked.begin = wire::feed_begin::snapshot;
        }
        with.send(framed(asked));
        for (bool is_first = true; !must_end(); is_first = false)
            take(with, with.next(), is_first);
    }
    void require_offers(const peer_connection& with, const hello_message& said) {
        if (!said.has_feed) with.fail(severity::lasting, "offers no feed; serve --feed STATE does");
        if (said.may_take_over || how_.takes_over == standby_options::when::never) return;
        if (!has_answered_)
            with.fail(severity::lasting, "lets no standby take over; call it with serve "
                                         "--take-over, or this one with --take-over never");
        warnings_.say(message_limit::level::warning,
                      server_ + ": lets no standby take over any more (serve --take-over)");
    }
    void take(peer_connection& with, const peer_connection::frame& next, bool is_first) {
        switch (next.type) {
        case wire::message::refusal:
            throw_refused(with, next.payload);
        case wire::message::feed_state:
            return take_state(with, with.named([&] { return read_feed_state(next.payload); }),
                              is_first);
        case wire::message::feed_part:
            if (is_first) break;
            return take_part(with, with.named([&] { return read_feed_part(next.payload); }));
        default:
            break;
        }
        with.fail(severity::fault, "a message of a type that is not expected here");
    }
    void take_state(const peer_connection& with, const feed_state_message& now, bool is_first) {
        if (is_first) {
            try {
                mirror_.begin(now.state, how_.cursor, {now.begin, true, now.revision});
            } catch (const usage_error&) {
                with.fail(severity::fault, "tells of another state than the one it was asked for");
            }
            failures_ = 0;
            has_answered_ = true;
            spdlog::info("{}: follows the feed that {} serves, from byte {}", how_.state.string(),
                         in_words(*how_.from), mirror_.resume().value_or(now.begin));
        }
        const std::lock_guard held(mutex_);
        if (now.writer == feed_writer::taken && how_.takes_over != standby_options::when::never)
            throw locked_error(server_ + ": another standby has taken the followed state's place");
        told_ = now;
        mirrored_ = mirror_.end();
        has_begun_ = true;
        if (is_first && (wanted_.place != 0 || wanted_.takes_over)) say_what_is_wanted();
        changed_.notify_all();
    }
    void take_part(const peer_connection& with, const feed_part_message& part) {
        const feed_position was = mirror_.end();
        try {
            mirror_.put(part);
        } catch (const damaged_error& problem) {
            with.fail(severity::fault, problem.what());
        } catch (const format_error& problem) {
            with.fail(severity::fault, problem.what());
        }
        if (mirror_.end() == was) return;
        faults_ = 0;
        const std::lock_guard held(mutex_);
        mirrored_ = mirror_.end();
        changed_.notify_all();
    }
    [[noreturn]] void throw_refused(const peer_connection& with, byte_view payload) {
        const refusal_message said = with.named([&] { return read_refusal(payload); });
        const std::string what = server_ + ": it refuses: \"" + said.text + "\"";
        if (said.reason == wire::refusal_reason::too_far_behind)
            throw feed::too_far_behind_error(what);
        if (said.reason == wire::refusal_reason::no_take_over) {
            // It is followed on; what is lasting is said when it connects again.
            const std::lock_guard held(mutex_);
            wanted_.takes_over = false;
            changed_.notify_all();
            with.fail(severity::transient, "it refuses: \"" + said.text + "\"");
        }
        if (said.reason == wire::refusal_reason::other_state)
            throw usage_error(what + "; name the server of the state that " + how_.state.string() +
                              " is a copy of, or move it away");
        with.fail_refused(payload);
    }

    const standby_options& how_;
    std::string server_;
    std::filesystem::path folder_;
    bool is_new_; ///< there is no state yet
    std::optional<feed::follower> feed_;

    feed_mirror mirror_; // of the thread, like the next ones
    std::atomic<std::uint64_t> received_ = 0;
    unsigned failures_ = 0; ///< one after the other, as faults_
    unsigned faults_ = 0;
    bool has_answered_ = false;
    message_limit warnings_{"connections to the served feed that failed"};

    mutable std::mutex mutex_; ///< for what follows
    std::condition_variable changed_;
    peer_connection* connection_ = nullptr;
    boost::asio::io_context* context_ = nullptr; ///< of connection_
    std::optional<feed_state_message> told_;     ///< over this connection
    feed_keep_message wanted_;
    feed_position mirrored_; ///< mirror_.end()
    bool has_begun_;         ///< mirror_.has_begun()
    bool is_ending_ = false;
    std::exception_ptr failure_;
    std::thread thread_;
};

} // namespace

std::unique_ptr<followed_state> follow_from_server(const standby_options& how) {
    return std::make_unique<state_of_server>(how);
}

} // namespace chainbase::driver
