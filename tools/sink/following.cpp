#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <tools/interruption.hpp>
#include <tools/sink/following.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <ranges>
#include <thread>
#include <utility>

namespace chainbase::sink {

namespace fs = std::filesystem;

namespace {

using clock = std::chrono::steady_clock;
using feed::entry;

const trace::gauge rows_waiting("sink.waiting.rows");
const trace::gauge blocks_behind("sink.behind.blocks");
const trace::gauge seconds_behind("sink.behind.seconds");
const trace::counter blocks_told("sink.blocks");

constexpr std::size_t rows_at_once = 20'000;
constexpr std::size_t bytes_at_once = std::size_t{8} << 20;
constexpr std::size_t most_blocks = 100'000; ///< whose serials are known after a pop
constexpr std::chrono::milliseconds pause{1};
constexpr std::chrono::milliseconds pause_of_retries{50};
constexpr std::chrono::seconds patience_with_node{10};
constexpr std::chrono::seconds pause_of_keeping{1};

/// The rows are made anew without being asked for: nothing else leads there.
class behind_bootstrap : public error {
public:
    using error::error;
};

} // namespace

std::string cursor_name(const sink_options& asked) {
    if (!asked.name.empty()) return asked.name;
    std::string all = asked.tables.schema;
    for (const std::string& one : asked.targets())
        all.append("\n").append(one);
    return fmt::format("sink-{:08x}",
                       static_cast<std::uint32_t>(XXH3_64bits(all.data(), all.size())));
}

following::following(options asked, std::function<bool()> is_over)
    : asked_(std::move(asked)), is_over_(std::move(is_over)),
      tables_(asked_.sink.distribute, asked_.sink.tables.history),
      to_(asked_.sink, tables_, is_over_) {}

following::report following::run() {
    prepare();
    follow();
    return done_;
}

/// Tables that are there must be of this state and its types.
void following::prepare() {
    state_ = state_description::of(asked_.sink.state);
    (void)tables_.take(state_.types);
    tables_.require_named();
    to_.make();
    to_.look(state_.identity);
    std::atomic<bool> is_whole{true};
    to_.each([&](std::size_t number) {
        const std::string made_from = to_.link(number).catalogue();
        if (!made_from.empty()) tables_.require_same(made_from, to_.link(number).name());
        if (made_from != tables_.made_from()) is_whole = false;
    });
    if (is_ready() && !is_whole) to_.make(tables_.all(), /*indexed=*/true); // of new types
    const auto count = static_cast<std::uint32_t>(to_.count());
    for (std::uint32_t number = 0; number < count; ++number)
        gathered_.emplace_back(tables_, to_.made(), number, count);
}

/// Whether all have rows of one bootstrap.
bool following::is_ready() const {
    for (std::size_t number = 0; number < to_.count(); ++number) {
        const std::optional<cursor>& at = to_.at(number);
        if (!at || !at->is_ready || at->epoch != to_.at(0)->epoch) return false;
    }
    return true;
}

/// Of databases that had no feed: whether they are as the state is.
bool following::is_current() const {
    const block_of_state now = block_of_state::of(asked_.sink.state);
    return std::ranges::all_of(std::views::iota(std::size_t{0}, to_.count()), [&](auto number) {
        const cursor& at = *to_.at(number);
        return at.revision == now.revision && at.serial == now.serial;
    });
}

void following::follow() {
    const std::string name = cursor_name(asked_.sink);
    if (is_ready() && !to_.at(0)->at && asked_.is_once && is_current()) {
        done_.has_feed = false;
        done_.revision = to_.at(0)->revision;
        return;
    }
    feed::follower from(asked_.sink.state, name);
    auto pause_of_copying = pause_of_retries;
    for (bool is_first = true;; is_first = false) {
        try {
            if (!is_ready() || !to_.at(0)->at || !is_first) begin_anew(from);
            if (!done_.has_feed) return;
            return go_on(from);
        } catch (const feed::too_far_behind_error& problem) {
            if (!asked_.begins_again && is_ready())
                throw feed::too_far_behind_error(
                    std::string(problem.what()) +
                    "; --bootstrap again makes the rows anew, from the state as it is");
            spdlog::warn("{}; the rows are made anew", problem.what());
        } catch (const behind_bootstrap& problem) {
            spdlog::warn("{}; the rows are made anew", problem.what());
        } catch (const retry_error& problem) { // of copying
            spdlog::warn("{}; the rows are made anew", problem.what());
            for (const auto until = clock::now() + pause_of_copying; clock::now() < until;) {
                if (is_over_()) throw interrupted_error("the rows are not all there");
                std::this_thread::sleep_for(pause_of_retries);
            }
            pause_of_copying =
                std::min<std::chrono::milliseconds>(2 * pause_of_copying, std::chrono::seconds(5));
        }
        to_.give_up();
        to_.look(state_.identity);
    }
}

/// Waits for a node that writes the feed; or, once, does without.
void following::begin_anew(feed::follower& from) {
    ++done_.bootstraps;
    const auto until = clock::now() + patience_with_node;
    bool is_told = false;
    for (std::string why_not; !(why_not = try_to_begin(from)).empty();) {
        const bool has_node = file_lock::is_held(fs::path(asked_.sink.state) / "lock");
        if (asked_.is_once && (!has_node || clock::now() > until)) return copy_without_feed();
        if (!is_told && clock::now() > until) {
            spdlog::info("{}; it is tried until it can", why_not);
            is_told = true;
        }
        std::this_thread::sleep_for(pause_of_retries);
        if (is_over_()) throw interrupted_error("no node wrote the feed");
    }
}

void following::copy_without_feed() {
    (void)tables_.take(state_description::of(asked_.sink.state).types);
    bootstrap(asked_.sink.state, tables_, to_, is_over_).run(state_.identity);
    done_.has_feed = false;
    done_.revision = to_.at(0)->revision;
    feed::feed_cursor::remove(disk::of_system(), feed::feed_folder(asked_.sink.state),
                              cursor_name(asked_.sink));
}

/// Returns why it cannot yet; empty when it has begun.
std::string following::try_to_begin(feed::follower& from) {
    try {
        ready_at_ = bootstrap(asked_.sink.state, tables_, to_, is_over_)
                        .run(from, cursor_name(asked_.sink), state_.identity);
        return {};
    } catch (const busy_error& problem) {
        to_.give_up();
        return problem.what();
    } catch (const unclean_error& problem) { // its node was killed, and may come back
        to_.give_up();
        if (asked_.is_once) throw;
        return problem.what();
    }
}

/// From where the first of the databases is; each takes what it has not.
void following::start(feed::follower& from) {
    here_ = *to_.at(0);
    ahead_.clear();
    for (std::size_t number = 0; number < to_.count(); ++number) {
        ahead_.push_back(*to_.at(number)->at);
        if (ahead_.back() < *here_.at) here_ = *to_.at(number);
        (void)gathered_[number].take();
    }
    require_place(*here_.at);
    try {
        from.go_to(*here_.at);
    } catch (const usage_error& problem) { // the files of another feed
        throw feed::too_far_behind_error(problem.what());
    }
    blocks_.assign(1, {here_.revision, here_.serial});
    is_sent_ = true;
    reach(*here_.at);
    send_and_wait(); // ready as of this block, not of a later one that it is sent with
}

/// A place behind the end is that of another feed, from before the state was restored; after a loss
/// of power the feed may say so only when its node is there again.
void following::require_place(feed::feed_position at) const {
    const fs::path state(asked_.sink.state);
    disk& on = disk::of_system();
    const fs::path head = feed::feed_folder(state) / "head";
    for (auto until = clock::now() + patience_with_node;;) {
        if (on.exists(head) && at <= feed::feed_head(on, feed::feed_folder(state)).end()) return;
        const bool has_node = file_lock::is_held(state / "lock");
        if (asked_.is_once ? !has_node || clock::now() > until : has_node && clock::now() > until)
            throw feed::too_far_behind_error(
                feed::feed_folder(state).string() +
                ": it ends before the place up to which the databases have it: the state, or its "
                "feed, was replaced");
        if (!has_node) until = clock::now() + patience_with_node;
        if (is_over_()) throw interrupted_error("the feed did not come to where the rows are");
        std::this_thread::sleep_for(pause_of_retries);
    }
}

/// What a damaged feed tells from there on is not known.
bool following::next(feed::follower& from, entry& into) {
    try {
        return from.next(into);
    } catch (const damaged_error& problem) {
        throw feed::too_far_behind_error(problem.what());
    }
}

void following::go_on(feed::follower& from) {
    start(from);
    for (entry one;;) {
        const bool is_over = is_over_();
        const bool is_there = !is_over && !has_gathered_enough() && next(from, one);
        if (is_there) take(from, one);
        const bool is_full = has_gathered_enough();
        if (is_full || is_over) to_.wait();
        if (to_.is_idle()) {
            to_.wait();
            if (has_rows() || here_.is_ready != to_.at(0)->is_ready) send();
        }
        if (clock::now() >= next_keep_) keep(from);
        if (is_there || is_full) continue;
        if (is_sent_ && to_.is_idle()) all_applied_ = clock::now();
        if (is_over || (asked_.is_once && here_.is_ready)) return end(from);
        std::this_thread::sleep_for(pause);
    }
}

void following::end(feed::follower& from) {
    keep(from);
    done_.revision = here_.revision;
    if (!here_.is_ready)
        throw interrupted_error("the rows are not those of a block yet; the next call begins anew");
}

bool following::has_rows() const {
    return std::ranges::any_of(gathered_, [](const changes& of) { return !of.empty(); });
}

bool following::has_gathered_enough() const {
    return std::ranges::any_of(gathered_, [](const changes& one) {
        return one.rows() >= rows_at_once || one.bytes() >= bytes_at_once;
    });
}

/// New types have their tables before what follows.
void following::take(feed::follower& from, const entry& one) {
    if (one.what == entry::kind::pop) require_known(one);
    if (!tables_.has_all(from.types())) { // what is being applied reads them
        send_and_wait();
        to_.make(tables_.take(from.types()), /*indexed=*/true);
    }
    const bool is_alone = changes::stands_alone(tables_, one);
    if (is_alone) send_and_wait();
    for (std::size_t number = 0; number < gathered_.size(); ++number)
        if (from.position() > ahead_[number]) gathered_[number].add(one);
    const bool was_ready = here_.is_ready;
    note(one, from.position());
    // Histories begin at the block that makes it ready.
    if (is_alone || here_.is_ready != was_ready) send_and_wait();
}

void following::note(const entry& one, feed::feed_position behind) {
    here_.at = behind;
    if (one.what == entry::kind::block) {
        blocks_.emplace_back(one.revision, one.serial);
        if (blocks_.size() > most_blocks) blocks_.pop_front();
        ++done_.blocks;
        blocks_told.add(1);
    } else if (one.what == entry::kind::pop) {
        if (!blocks_.empty()) blocks_.pop_back();
        if (blocks_.empty()) blocks_.emplace_back(one.revision - 1, 0);
        ++done_.pops;
    }
    here_.revision = blocks_.back().first;
    here_.serial = blocks_.back().second;
    is_sent_ = false;
    reach(behind);
}

/// Where the bootstrap ends, the rows are those of a block.
void following::reach(feed::feed_position behind) {
    if (here_.is_ready || behind < ready_at_) return;
    here_.is_ready = true;
    here_.since = here_.revision;
    is_sent_ = false;
}

/// Histories, and rows that left the archive, are known from the bootstrap on.
void following::require_known(const entry& pop) const {
    if (here_.is_ready && pop.revision > here_.since) return;
    const bool has_history =
        here_.is_ready && std::ranges::any_of(tables_.all(), [&](const table* of) {
            return to_.made().has_history(*of);
        });
    if (has_history || changes::stands_alone(tables_, pop))
        throw behind_bootstrap("revision " + std::to_string(pop.revision) +
                               " was undone, which the rows began with");
}

/// Of what is being applied nothing is left; a database that is ahead stays where it is.
void following::send() {
    std::vector<batch> all;
    std::vector<cursor> next;
    std::size_t rows = 0;
    for (std::size_t number = 0; number < gathered_.size(); ++number) {
        const cursor& at = *to_.at(number);
        rows += gathered_[number].rows();
        all.push_back(gathered_[number].take());
        if (!at.is_ready)
            for (table_batch& one : all.back().tables)
                one.history.clear(); // they begin where it is
        next.push_back(here_);
        next.back().shard = at.shard;
        next.back().shards = at.shards;
        if (ahead_[number] > *here_.at) next.back() = at;
    }
    done_.rows += rows;
    ++done_.transactions;
    rows_waiting.set(static_cast<double>(rows));
    is_sent_ = true;
    to_.begin(std::move(all), next);
}

void following::send_and_wait() {
    to_.wait();
    if (!is_sent_) send();
    to_.wait();
}

/// The cursor of the feed follows those of the databases.
void following::keep(feed::follower& from) {
    send_and_wait();
    from.keep();
    next_keep_ = clock::now() + pause_of_keeping;
    if (trace::enabled()) note_lag();
}

/// Of the databases, as of the last time when they had all that the feed told.
void following::note_lag() const {
    const std::chrono::duration<double> since = clock::now() - all_applied_;
    seconds_behind.set(since.count());
    try {
        const revision_number newest = block_of_state::of(asked_.sink.state).revision;
        blocks_behind.set(
            static_cast<double>(std::max<revision_number>(newest - here_.revision, 0)));
    } catch (const error&) { // the state is being closed, or restored
    }
}

} // namespace chainbase::sink
