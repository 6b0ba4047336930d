#include <pool_allocator/base/error.hpp>
#include <tools/chains/checked.hpp>
#include <tools/driver/block_feed.hpp>
#include <tools/driver/chain_gauges.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/open_log.hpp>
#include <tools/driver/replay.hpp>
#include <tools/driver/root/chain_root.hpp>
#include <tools/progress.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <vector>

namespace chainbase::driver {

std::size_t step_of(run_of_blocks waiting) {
    std::size_t operations = 0;
    std::size_t blocks = 0;
    while (blocks < waiting.size() && operations < operations_per_step)
        operations += std::max<std::size_t>(waiting[blocks++]->operations(), 1);
    return blocks;
}

std::size_t step_hand_over(const chain_model& model) {
    std::int64_t archived = 0;
    for (const auto& objects : model.archived())
        archived += objects.second;
    return std::clamp(static_cast<std::size_t>(archived) / 8, block_hand_over, max_handed_over);
}

unsigned preparing_threads(unsigned asked) noexcept {
    const unsigned others = std::max(std::thread::hardware_concurrency(), 2u) - 1;
    return asked != 0 ? asked : std::min(others, 4u);
}

namespace {

constexpr double rate_window = 5;

std::uint64_t per_second(std::uint64_t count, double seconds) {
    return seconds > 0 ? static_cast<std::uint64_t>(static_cast<double>(count) / seconds) : 0;
}

std::string figures_in_words(const chain_state& state, std::uint64_t rate) {
    std::int64_t archived = 0;
    for (const auto& [type, objects] : state.model().archived())
        archived += objects;
    return fmt::format("block {}: {} blocks, {} operations/s, memory {}, {} objects archived",
                       state.head(), state.blocks(), rate, bytes_in_words(state.memory().total),
                       archived);
}

/// Shows the progress of a replay, and logs its end.
class replay_progress {
public:
    /// `from` and `to`: bytes of the block log at the begin and the end of the work.
    replay_progress(const chain_state& state, std::uint64_t from, std::uint64_t to)
        : shown_(state.root() ? "replaying, with a root for each block" : "replaying"),
          operations_before_(state.operations()), from_(from), to_(to) {
        rate_.push_back({0, operations_before_, {}});
    }

    /// Call it after some blocks, with their position in the log and the waiting times so far.
    /// Costs a clock read.
    void advance(const chain_state& state, std::uint64_t position, block_feed::waiting waited) {
        if (!shown_.is_due()) return;
        const double now = seconds();
        gauges_.update(state);
        rate_.push_back({now, state.operations(), waited});
        while (rate_.size() > 2 && rate_.front().seconds < now - rate_window)
            rate_.pop_front();
        position = std::max(position, from_); // `from_` was estimated from block numbers
        shown_.show(position - from_, std::max(to_, position) - from_, [&] {
            const sample& first = rate_.front();
            return figures_in_words(state, per_second(state.operations() - first.operations,
                                                      now - first.seconds)) +
                   waits_in_words(rate_.back());
        });
    }

    /// Logs the final line: the state's head and why the work ended (`how`), over the whole time.
    void finish(const chain_state& state, const char* how) {
        gauges_.show(state);
        const double now = seconds();
        spdlog::info(
            "{}, {}, {}",
            figures_in_words(state, per_second(state.operations() - operations_before_, now)),
            duration_in_words(now), how);
    }

    /// Seconds since the begin.
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    }

private:
    struct sample {
        double seconds;
        std::uint64_t operations;
        block_feed::waiting waited;
    };
    /// Shares of the time spent waiting in the window, over all decoding threads together.
    [[nodiscard]] std::string waits_in_words(const sample& now) const {
        const sample& then = rate_.front();
        const auto share = [&](std::chrono::nanoseconds until, std::chrono::nanoseconds from) {
            return std::chrono::duration<double>(until - from).count() /
                   (now.seconds - then.seconds);
        };
        if (now.seconds <= then.seconds) return {};
        return fmt::format(", waits: apply {:.0f} % (and helps decode {:.0f} %), decode {:.0f} %",
                           100 * share(now.waited.for_blocks, then.waited.for_blocks),
                           100 * share(now.waited.helping, then.waited.helping),
                           100 * share(now.waited.for_room, then.waited.for_room));
    }

    progress shown_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::uint64_t operations_before_;
    std::uint64_t from_;
    std::uint64_t to_;
    chain_gauges gauges_;
    std::deque<sample> rate_;
};

enum class outcome { end_of_log, stop_reached, interrupted, other_root };

const char* in_words(outcome how) {
    switch (how) {
    case outcome::end_of_log:
        return "the end of the log";
    case outcome::stop_reached:
        return "the block to stop at";
    case outcome::interrupted:
        return "interrupted; the same call goes on";
    case outcome::other_root:
        return "a block with another root";
    }
    return "";
}

/// Checks the chain's identities after the step that began with a block.
void validate(const chain_state& state, const decoded_block& first, const replay_options& options) {
    try {
        state.model().check();
    } catch (const damaged_error& problem) {
        throw damaged_error("after blocks " + std::to_string(first.number()) + " to " +
                            std::to_string(state.head()) + ": " + problem.what() + ". The state " +
                            options.state.string() +
                            " holds this fault; for the state before it, replay into a new "
                            "folder with --stop-at " +
                            std::to_string(first.number() - 1));
    }
}

/// Compares the roots of blocks with expected ones.
class root_comparison {
public:
    /// Begins with the blocks of the state. Throws usage_error when it has no root to compare, or
    /// one over other types, or when no block can be compared.
    root_comparison(const chain_state& state, const replay_options& options)
        : state_(state), options_(options), expected_(options.expected) {
        if ((options.verify_root || expected_) && !state.root()) throw_no_root(options.state);
        if (!expected_) return;
        expected_->require_comparable(
            {options.state, true, state.chain(), state.root()->types(), {}});
        for (const block_root& one : state.root()->blocks())
            if (!compare(one)) return;
        if (compared_ == 0 && (last_expected() <= state.head() ||
                               options.stop_at.value_or(UINT64_MAX) < first_expected()))
            throw_none_in_common();
    }

    /// Number of blocks in the next step: one when it is compared, so that the state has its root.
    [[nodiscard]] std::size_t step_of(run_of_blocks waiting) const {
        return expected_ ? 1 : driver::step_of(waiting);
    }
    /// After a step.
    void compare() {
        if (expected_) (void)compare(*state_.root()->of_block(state_.head()));
    }
    /// Whether all roots so far were as expected.
    [[nodiscard]] bool is_same() const noexcept { return !differs_; }
    void report(reported_root& to) const {
        to.compared = compared_;
        if (expected_) to.with = expected_->source.string();
        to.differs = differs_;
    }
    /// At the end of the log: throws usage_error unless a block was compared.
    void require_any() const {
        if (expected_ && compared_ == 0) throw_none_in_common();
    }

    [[noreturn]] static void throw_no_root(const std::filesystem::path& state) {
        throw usage_error(state.string() +
                          ": --verify-roots: the state has no root; give --state-root, too");
    }

private:
    /// Returns whether it is as expected.
    bool compare(const block_root& found) {
        const auto wanted = expected_->by_number.find(found.number);
        if (wanted == expected_->by_number.end()) return true;
        ++compared_;
        const known_roots::entry own{found.root, found.writes};
        if (own.root == wanted->second.root) return true;
        differs_ = {found.number, wanted->second.root, own.wrote_as(wanted->second)};
        return false;
    }
    [[nodiscard]] std::uint64_t first_expected() const {
        return expected_->by_number.begin()->first;
    }
    [[nodiscard]] std::uint64_t last_expected() const {
        return expected_->by_number.rbegin()->first;
    }
    [[noreturn]] void throw_none_in_common() const {
        throw usage_error(expected_->source.string() + " has the roots of blocks " +
                          std::to_string(first_expected()) + " to " +
                          std::to_string(last_expected()) + ", but none of those that " +
                          options_.state.string() + ", at block " + std::to_string(state_.head()) +
                          ", has or was to get; nothing was compared");
    }

    const chain_state& state_;
    const replay_options& options_;
    const std::optional<known_roots>& expected_;
    std::uint64_t compared_ = 0;
    std::optional<reported_root::difference> differs_;
};

/// Applies the blocks of one record. Stops early for a signal, or when a block's root is not the
/// expected one; returns the reason.
std::optional<outcome> apply_all(chain_state& state, run_of_blocks blocks,
                                 const replay_options& options, const catch_interruption& signals,
                                 root_comparison& roots) {
    while (!blocks.empty()) {
        if (signals.caught()) return outcome::interrupted;
        const std::size_t step = roots.step_of(blocks);
        state.apply_irreversible(blocks.first(step));
        if (options.validate) validate(state, *blocks.front(), options);
        roots.compare();
        if (!roots.is_same()) return outcome::other_root;
        blocks = blocks.subspan(step);
    }
    return std::nullopt;
}

outcome apply_blocks(chain_state& state, block_feed& feed, const block_log_reader& log,
                     const replay_options& options, const catch_interruption& signals,
                     root_comparison& roots, replay_progress& shown) {
    std::vector<const decoded_block*> run;
    std::uint64_t position = 0;
    while (!signals.caught()) {
        if (!feed.await(std::chrono::milliseconds(500))) {
            shown.advance(state, position, feed.waited());
            continue;
        }
        std::optional<block_feed::chunk> next = feed.next();
        if (!next) break;
        run.clear();
        for (const auto& one : next->blocks)
            run.push_back(one.get());
        if (const auto stopped = apply_all(state, run, options, signals, roots)) return *stopped;
        position = next->position;
        shown.advance(state, position, feed.waited());
        feed.give_back(std::move(*next));
    }
    if (signals.caught()) return outcome::interrupted;
    return log.empty() || *log.head_number() <= state.head() ? outcome::end_of_log
                                                             : outcome::stop_reached;
}

/// A head of 0 means a state without blocks; a block with that number could not be told from it.
void require_no_block_0(const block_log_reader& log) {
    if (log.first_number() == 0)
        throw rejected_error(log.path().string() +
                             ": its first block has the number 0, and the blocks of a chain are "
                             "numbered from 1 on; make the log again with its own numbers plus 1");
}

/// Checks what can be checked before a state is made.
void require_root(const replay_options& options) {
    const bool is_looked_at = options.verify_root || options.expected;
    if (is_looked_at && !options.state_settings.root.types &&
        !std::filesystem::exists(options.state))
        root_comparison::throw_no_root(options.state);
}

std::string where(const chain_state& state, const replay_options& options) {
    return "the state " + options.state.string() + " is at block " + std::to_string(state.head());
}

std::string number_of(const std::optional<block_log_stream::encoded_block>& next) {
    return next ? "block " + std::to_string(next->number) : "nothing";
}

/// The log must continue at the state's head. If it begins behind it (a piece of a longer log), the
/// caller must name the next block.
void require_begin(chain_state& state, const block_log_reader& log, const replay_options& options) {
    if (!options.from) return state.align_with_log(log);
    const std::uint64_t from = *options.from;
    const bool begins_behind = log.first_number().value_or(0) > state.head();
    if (!begins_behind) state.align_with_log(log);
    if (from <= state.head() && !begins_behind) return; // the same block began it before
    const auto next = log.stream(state.head() + 1).next_encoded();
    if (next && next->number == from) return;
    throw usage_error(where(state, options) + ", and what follows in " + log.path().string() +
                      " is " + number_of(next) + ", not block " + std::to_string(from) +
                      "; give --from the number that follows, or use the log that has block " +
                      std::to_string(from));
}

} // namespace

replay_report replay(const replay_options& options, const catch_interruption& signals) {
    const block_log_reader log = open_log(options.block_log);
    require_no_block_0(log);
    require_root(options);
    chain_state state(options.state, log.chain(), 0, options.state_settings);
    require_begin(state, log, options);
    if (options.stop_at) state.require_not_beyond(*options.stop_at);
    state.apply_root_options();
    const std::uint64_t blocks_before = state.blocks();
    const std::uint64_t operations_before = state.operations();

    root_comparison roots(state, options);
    replay_progress shown(state, log.position_of(state.head()),
                          options.stop_at ? log.position_of(*options.stop_at) : log.bytes());
    block_feed feed(log, decoder_of(log.chain()),
                    {state.head() + 1, options.stop_at, preparing_threads(options.threads)});
    const outcome how = roots.is_same()
                            ? apply_blocks(state, feed, log, options, signals, roots, shown)
                            : outcome::other_root;
    state.end_steps();
    if (how == outcome::end_of_log) state.finish();
    const double seconds = shown.seconds();
    const bool has_all = options.stop_at && *options.stop_at <= state.head();
    const bool is_cut = how == outcome::end_of_log && !has_all && !log.cut().empty();
    shown.finish(state, is_cut ? "where the log is cut" : in_words(how));

    if (how == outcome::end_of_log || how == outcome::stop_reached) roots.require_any();
    if (options.verify_root && how != outcome::interrupted) state.root()->verify();
    replay_report report = report_on(state, how == outcome::interrupted);
    // Broken books imply another root, which tells more.
    if (report.broken_books && how != outcome::other_root)
        throw damaged_error(*report.broken_books);
    if (is_cut) report.log_cut = log.cut();
    report.seconds = seconds;
    report.waited = feed.waited();
    report.replayed_blocks = state.blocks() - blocks_before;
    report.replayed_operations = state.operations() - operations_before;
    if (options.verify && !report.interrupted) report.verified = verified(state);
    if (report.state_root) roots.report(*report.state_root);
    if (report.state_root)
        report.state_root->is_recomputed = options.verify_root && !report.interrupted;
    state.close(); // nothing is reported as done before it is on disk
    return report;
}

} // namespace chainbase::driver
