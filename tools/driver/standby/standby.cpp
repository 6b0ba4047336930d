#include <chainbase/database.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/standby/beginning.hpp>
#include <tools/driver/standby/copied_chain.hpp>
#include <tools/driver/standby/followed_state.hpp>
#include <tools/driver/standby/standby.hpp>

#include <boost/asio/ip/host_name.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <deque>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

namespace chainbase::driver {

namespace {

using when = standby_options::when;
using writer = other_writer::condition;
using stand_clock = std::chrono::steady_clock;

/// How often the feed and the writer are looked at while nothing comes.
constexpr std::chrono::milliseconds pause{1};
constexpr std::chrono::seconds between_keeps{1};

/// Named after the folder of the state; a state with another path or machine has another one. A
/// mirror keeps the name that it was made with.
std::string cursor_of(const standby_options& options) {
    if (options.from && chain_state::is_in(options.state)) {
        const auto kept = feed::feed_cursor::names(
            disk::of_system(), feed::feed_folder(options.state.string() + ".feed"));
        if (kept.size() == 1) return kept.front();
    }
    const std::filesystem::path state = std::filesystem::absolute(options.state).lexically_normal();
    std::string where = boost::asio::ip::host_name() + state.string();
    std::string machine;
    if (std::ifstream("/etc/machine-id") >> machine) where += machine; // containers may have none
    std::string name = "standby-" + state.filename().string().substr(0, 32);
    std::ranges::replace_if(
        name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '-');
    return fmt::format("{}-{:016x}", name,
                       archive::hash_of(std::as_bytes(std::span<const char>(where))));
}

std::unique_ptr<followed_state> followed_by(const standby_options& options) {
    if (options.from) return follow_from_server(options);
    if (options.of.empty())
        throw usage_error("standby: nothing to follow is named; --of names a state of this "
                          "machine, --from a server of another one");
    return follow_here(options);
}

class standing_by {
public:
    standing_by(const standby_options& options, const catch_interruption& signals,
                const standby_listener& tell)
        : options_(options), signals_(signals), tell_(tell), primary_(followed_by(options)) {
        all_.of = primary_->name();
        all_.state = options.state.string();
    }

    standby_report work() {
        if (const auto by = primary_->superseded_by()) return go_on_after(*by);
        has_seen_writer_ = primary_->look() == writer::works;
        open();
        say("following");
        while (!signals_.caught()) {
            if (apply_next()) continue;
            if (has_ended_ || (is_gone() && take_over())) return become_node();
            std::this_thread::sleep_for(pause);
        }
        keep();
        note_place();
        state_->close();
        return {all_, {}};
    }

private:
    void open() {
        std::optional<feed::feed_position> begin;
        if (!chain_state::is_in(options_.state)) begin = make_state();
        if (const auto left = snapshot_beside(options_.state); std::filesystem::exists(left))
            spdlog::info("{}: is not needed any more, and can be removed", left.string());
        open_state();
        copy_.emplace(*state_, primary_->feed().state());
        if (!copy_->position()) {
            if (!begin && primary_->feed().is_new())
                throw usage_error(fmt::format("{}: is no copy of {}; move it away, and call again: "
                                              "a copy is made",
                                              all_.state, all_.of));
            if (!begin) begin = place_of_head();
            if (signals_.caught())
                throw interrupted_error("interrupted before it followed; the same call goes on");
            if (!begin)
                throw feed::too_far_behind_error(
                    fmt::format("the feed of {} does not tell of its block {}, or that was undone",
                                all_.of, state_->head()));
            copy_->begin_at(*begin);
        }
        try {
            primary_->feed().go_to(*copy_->position());
        } catch (const usage_error& problem) { // its files are not those of then
            throw feed::too_far_behind_error(problem.what());
        }
        if (!all_.checks_roots)
            spdlog::warn("{}: has no state root, so blocks are only compared object by object; "
                         "--state-root all of its node makes one",
                         all_.of);
    }

    /// This state took the other one's place before this call, or another one did.
    standby_report go_on_after(const std::string& by) {
        require_own(by);
        open_state();
        apply_again();
        return go_on();
    }
    [[nodiscard]] std::optional<feed::feed_position> place_of_head() {
        return place_behind(
            {state_->head(), to_string(state_->head_id()), state_->state().revision()},
            primary_->feed());
    }
    void require_own(const std::string& by) const {
        if (by != primary_->successor())
            throw usage_error(fmt::format("{}: {} took its place; follow that one", all_.of, by));
    }
    /// What a loss of power took of the copy, unless it has blocks of its own.
    void apply_again() {
        feed::follower& from = primary_->feed();
        copy_.emplace(*state_, from.state());
        try {
            if (!copy_->position()) {
                const auto begin = place_of_head();
                if (!begin) return;
                copy_->begin_at(*begin);
            }
            from.go_to(*copy_->position());
            while (from.next(next_)) {
                const revision_number own = state_->state().revision();
                using kind = feed::entry::kind;
                if (next_.what == kind::block && next_.revision != own + 1) return;
                if (next_.what == kind::pop && next_.revision != own) return;
                copy_->apply(next_, from.types(), from.position());
            }
        } catch (const feed::too_far_behind_error&) { // its end, or nothing before that is needed
        } catch (const usage_error&) {
        }
    }
    /// The feed told of all, and this state has it.
    standby_report become_node() {
        if (is_known_) {
            if (!primary_->is_passed_on())
                throw feed::too_far_behind_error(fmt::format(
                    "{} took the place of {}, which was given that again, or a signal came",
                    all_.state, all_.of));
            require_all();
        }
        if (gone_at_)
            all_.milliseconds =
                std::chrono::duration<double, std::milli>(stand_clock::now() - *gone_at_).count();
        return go_on();
    }
    standby_report go_on() {
        primary_->keep_mark();
        all_.took_over = true;
        say("took_over");
        if (options_.peers.empty()) {
            state_->close();
            return {all_, {}};
        }
        copy_.reset();
        sync_options next = options_;
        next.from_snapshot.reset();
        return {all_, sync(next, signals_, std::move(state_))};
    }
    void open_state() {
        const std::string chain = chain_state::require_chain(options_.state);
        state_ = std::make_unique<chain_state>(options_.state, chain, options_.lag,
                                               options_.state_settings);
        state_->apply_root_options();
        all_.checks_roots = state_->root() != nullptr;
    }

    /// Returns its place in the feed, if that is known.
    std::optional<feed::feed_position> make_state() {
        feed::follower& from = primary_->feed(); // which has begun before the state was read
        if (!options_.from) return copy_state(options_.of, from, options_);
        if (!options_.from_snapshot)
            throw usage_error(all_.state +
                              ": there is no state; --from-snapshot FOLDER makes it "
                              "of the snapshot that " +
                              all_.of + " offers, with --trusted-name and what its serve printed");
        following_options of_server = options_;
        of_server.peers = {*options_.from};
        (void)start_from_snapshot(*options_.from_snapshot, of_server);
        return std::nullopt;
    }

    /// Returns whether there was one.
    [[nodiscard]] bool apply_next() {
        feed::follower& from = primary_->feed();
        try {
            if (!from.next(next_)) return false;
        } catch (const feed::too_far_behind_error& problem) {
            has_ended_ = problem.why() == other_writer::farewell(primary_->successor());
            if (has_ended_) return false;
            throw;
        } catch (const damaged_error& problem) {
            throw feed::too_far_behind_error(problem.what());
        }
        copy_->apply(next_, from.types(), from.position());
        if (next_.what == feed::entry::kind::block) {
            ++all_.blocks;
            all_.objects += next_.changes.size();
            behind_.emplace_back(next_.revision, from.position());
        } else if (next_.what == feed::entry::kind::pop) {
            ++all_.pops;
            checkpoints_needed_ = state_->checkpoints().made + 2; // one may be under way
            while (!behind_.empty() && behind_.back().first >= next_.revision)
                behind_.pop_back();
        }
        if (stand_clock::now() >= next_keep_) keep();
        return true;
    }

    [[nodiscard]] bool is_gone() {
        if (stand_clock::now() >= next_keep_) keep();
        const auto now = stand_clock::now();
        const std::optional<writer> condition = primary_->look();
        if (!condition || condition == writer::works) {
            has_seen_writer_ = has_seen_writer_ || condition;
            gone_since_.reset();
        } else if (!gone_since_) {
            gone_since_ = now;
        }
        if (!gone_since_ || now - *gone_since_ < options_.after) return false;
        if (options_.takes_over == when::ended) return true;
        return options_.takes_over == when::killed && condition == writer::killed &&
               has_seen_writer_;
    }

    /// Returns false when a signal came first, or a writer, or it is not known whether it did.
    [[nodiscard]] bool take_over() {
        gone_at_ = stand_clock::now();
        try {
            if (!primary_->keep_writers_out()) return is_followed_on();
        } catch (const locked_error& problem) {
            if (const auto by = primary_->superseded_by()) require_own(*by);
            spdlog::warn("{}; it is followed on", problem.what());
            return is_followed_on();
        } catch (const damaged_error& problem) {
            spdlog::error("{}; it takes over with what it was told of", problem.what());
            is_known_ = false;
        }
        while (apply_next()) {
        }
        if (has_ended_) return true;
        if (is_known_) require_all();
        try {
            if (!primary_->pass_on() && is_known_) return is_followed_on();
        } catch (const error& problem) {
            spdlog::error("{}; see that no node is started with {}", problem.what(), all_.of);
            is_known_ = false;
        }
        return true;
    }
    bool is_followed_on() {
        gone_at_.reset();
        gone_since_.reset();
        return false;
    }

    /// The feed may not have been written, or be another one by now.
    void require_all() const {
        const auto newest = primary_->newest_revision();
        const revision_number own = state_->state().revision();
        if (!newest || *newest == own) return;
        throw damaged_error(fmt::format(
            "{}: its newest block has revision {}, and its feed told of {}, so nothing is taken "
            "over; start its node again, or, to do without those blocks, begin with {} as it is",
            all_.of, *newest, own, all_.state));
    }

    void note_place() {
        all_.block = state_->head();
        all_.revision = state_->state().revision();
    }
    /// Nobody may listen any more.
    void say(const char* event) {
        note_place();
        try {
            tell_(event, all_);
        } catch (const io_error& problem) {
            spdlog::warn("{}", problem.what());
        }
    }

    /// The revision that this state has, at the least, after whatever it survives.
    [[nodiscard]] revision_number safe_revision() {
        const revision_number irreversible = state_->state().committed_revision();
        if (options_.state_settings.level == durability::process) return irreversible;
        if (options_.state_settings.level == durability::commit) {
            state_->state().wait_until_durable();
            return irreversible;
        }
        // The revisions of a checkpoint may be those of a branch that was left since.
        const checkpoint::history made = state_->checkpoints();
        if (!made.last || made.made < checkpoints_needed_) return 0;
        return std::min<revision_number>(irreversible, made.last->revision);
    }
    /// Lets the feed forget what is not needed here any more.
    void keep() {
        next_keep_ = stand_clock::now() + between_keeps;
        const revision_number safe = safe_revision();
        std::optional<std::pair<revision_number, feed::feed_position>> newest;
        // What is merged into a block comes before the next one.
        for (; !behind_.empty() && behind_.front().first < safe; behind_.pop_front())
            newest = behind_.front();
        if (newest) primary_->keep(newest->second, newest->first);
    }

    const standby_options& options_;
    const catch_interruption& signals_;
    const standby_listener& tell_;
    std::unique_ptr<followed_state> primary_;
    std::unique_ptr<chain_state> state_;
    std::optional<copied_chain> copy_;
    feed::entry next_;
    std::deque<std::pair<revision_number, feed::feed_position>> behind_; ///< blocks still needed
    stand_clock::time_point next_keep_ = stand_clock::now();
    std::uint64_t checkpoints_needed_ = 0; ///< before their revisions count
    bool has_seen_writer_ = false;
    bool has_ended_ = false;                         ///< the feed, with this state's name
    bool is_known_ = true;                           ///< what the followed state has
    std::optional<stand_clock::time_point> gone_at_; ///< when it was found gone
    std::optional<stand_clock::time_point> gone_since_;
    standby_figures all_;
};

} // namespace

standby_report stand_by(const standby_options& options, const catch_interruption& signals,
                        const standby_listener& tell) {
    if (options.state_settings.root.types)
        throw usage_error("--state-root: a standby has the root of the state that it follows");
    standby_options how = options;
    how.cursor = cursor_of(options);
    try {
        return standing_by(how, signals, tell).work();
    } catch (const feed::too_far_behind_error& problem) {
        if (!chain_state::is_in(options.state)) throw;
        throw feed::too_far_behind_error(
            fmt::format("{}: cannot follow on: {}. Move it away and call again: it is made anew",
                        options.state.string(), problem.what()));
    }
}

} // namespace chainbase::driver
