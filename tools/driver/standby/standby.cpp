#include <chainbase/database.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/standby/beginning.hpp>
#include <tools/driver/standby/copied_chain.hpp>
#include <tools/driver/standby/followed_state.hpp>
#include <tools/driver/standby/standby.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
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

std::unique_ptr<followed_state> followed_by(const standby_options& options) {
    if (options.from) return follow_from_server(options);
    if (options.of.empty())
        throw usage_error("standby: nothing to follow is named; --of names a state of this "
                          "machine, --from a server of another one");
    return follow_here(options.of, options.cursor);
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
        open();
        say("following");
        while (!signals_.caught()) {
            if (apply_next()) continue;
            if (is_gone()) {
                if (!take_over()) break;
                return after();
            }
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
        const std::string chain = chain_state::require_chain(options_.state);
        state_ = std::make_unique<chain_state>(options_.state, chain, options_.lag,
                                               options_.state_settings);
        state_->apply_root_options();
        copy_.emplace(*state_, primary_->feed().state());
        if (!copy_->position()) {
            if (!begin)
                begin = place_behind(
                    {state_->head(), to_string(state_->head_id()), state_->state().revision()},
                    primary_->feed());
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
        all_.checks_roots = state_->root() != nullptr;
        if (!all_.checks_roots)
            spdlog::warn("{}: has no state root, so blocks are only compared object by object; "
                         "--state-root all of its node makes one",
                         all_.of);
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
        if (!from.next(next_)) return false;
        copy_->apply(next_, from.types(), from.position());
        if (next_.what == feed::entry::kind::block) {
            ++all_.blocks;
            all_.objects += next_.changes.size();
            behind_.emplace_back(next_.revision, from.position());
        } else if (next_.what == feed::entry::kind::pop) {
            ++all_.pops;
            while (!behind_.empty() && behind_.back().first >= next_.revision)
                behind_.pop_back();
        }
        if (stand_clock::now() >= next_keep_) keep();
        return true;
    }

    [[nodiscard]] bool is_gone() {
        if (stand_clock::now() >= next_keep_) keep();
        if (options_.takes_over == when::never) return false;
        switch (primary_->look()) {
        case writer::works:
            return false;
        case writer::killed:
            return true;
        case writer::ended:
            return options_.takes_over == when::ended;
        }
        return false;
    }

    /// Returns false when a signal came first.
    [[nodiscard]] bool take_over() {
        const auto begin = stand_clock::now();
        try {
            if (!primary_->keep_writers_out()) return false;
        } catch (const damaged_error& problem) {
            spdlog::error("{}; it takes over with what it was told of", problem.what());
        }
        while (apply_next()) {
        }
        all_.took_over = true;
        all_.milliseconds =
            std::chrono::duration<double, std::milli>(stand_clock::now() - begin).count();
        say("took_over");
        primary_->pass_on(options_.state);
        return true;
    }

    standby_report after() {
        if (options_.peers.empty()) {
            state_->close();
            return {all_, {}};
        }
        copy_.reset();
        sync_options next = options_;
        next.from_snapshot.reset();
        return {all_, sync(next, signals_, std::move(state_))};
    }

    void note_place() {
        all_.block = state_->head();
        all_.revision = state_->state().revision();
    }
    void say(const char* event) {
        note_place();
        tell_(event, all_);
    }

    /// The revision that this state has, at the least, after whatever it survives.
    [[nodiscard]] revision_number safe_revision() const {
        const revision_number irreversible = state_->state().committed_revision();
        if (options_.state_settings.level == durability::process) return irreversible;
        const checkpoint::history made = state_->checkpoints();
        const std::int64_t durable = options_.state_settings.level == durability::commit
                                         ? (made.redo ? made.redo->durable : 0)
                                         : (made.last ? made.last->revision : 0);
        return std::min<revision_number>(irreversible, durable);
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
    standby_figures all_;
};

} // namespace

standby_report stand_by(const standby_options& options, const catch_interruption& signals,
                        const standby_listener& tell) {
    try {
        return standing_by(options, signals, tell).work();
    } catch (const feed::too_far_behind_error& problem) {
        throw feed::too_far_behind_error(
            fmt::format("{}: cannot follow on: {}. Move it away and call again: it is made anew",
                        options.state.string(), problem.what()));
    }
}

} // namespace chainbase::driver
