#include <pool_allocator/error.hpp>
#include <tools/chains/rejected.hpp>
#include <tools/driver/block_feed.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/open_log.hpp>
#include <tools/driver/progress.hpp>
#include <tools/driver/replay.hpp>
#include <tools/driver/replay_steps.hpp>
#include <tools/driver/root/chain_root.hpp>

#include <string>
#include <vector>

namespace chainbase::driver {

namespace {

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

/// What the chain's books say must be so, after the step that began with a block.
void validate(const chain_state& state, const decoded_block& first, const replay_options& options) {
    try {
        state.model().check();
    } catch (const damaged_error& problem) {
        throw damaged_error("after blocks " + std::to_string(first.number()) + " to " +
                            std::to_string(state.head()) + ": " + problem.what() + ". The state " +
                            options.state.string() +
                            " holds it; to look at the one before, replay into a new folder with "
                            "--stop-at " +
                            std::to_string(first.number() - 1));
    }
}

/// Compares the roots of blocks with those that are expected.
class root_comparison {
public:
    /// Throws usage_error when the state has no root to be looked at, or one of other types.
    root_comparison(const chain_state& state, const replay_options& options)
        : state_(state), expected_(options.expected) {
        if (options.verify_root && !state.root())
            throw usage_error(options.state.string() +
                              ": has no root to verify; give --state-root all, too");
        if (!expected_) return;
        if (!state.root())
            throw usage_error(options.state.string() + ": has no root to compare with those of " +
                              expected_->source.string() + "; give --state-root, too");
        expected_->require_types(state.root()->types(), options.state.string());
    }

    /// How many blocks make the next step: one, when it is compared, so that the state stays as
    /// after it.
    [[nodiscard]] std::size_t step_of(run_of_blocks waiting) const {
        return expected_ ? 1 : driver::step_of(waiting);
    }
    /// After a step. Returns whether all is as expected.
    [[nodiscard]] bool compare() {
        if (!expected_) return true;
        const auto wanted = expected_->by_number.find(state_.head());
        if (wanted == expected_->by_number.end()) return true;
        ++compared_;
        const block_root& found = *state_.root()->of_block(state_.head());
        if (found.root == wanted->second.root) return true;
        differs_ = {state_.head(), wanted->second.root, found.writes == wanted->second.writes};
        return false;
    }
    void report(reported_root& to) const {
        to.compared = compared_;
        if (expected_) to.with = expected_->source.string();
        to.differs = differs_;
    }

private:
    const chain_state& state_;
    const std::optional<known_roots>& expected_;
    std::uint64_t compared_ = 0;
    std::optional<reported_root::difference> differs_;
};

/// Applies the blocks of one record, unless a signal comes in between, or a block has another root
/// than expected: that is why it stopped.
std::optional<outcome> apply_all(chain_state& state, run_of_blocks blocks,
                                 const replay_options& options, const catch_interruption& signals,
                                 root_comparison& roots) {
    while (!blocks.empty()) {
        if (signals.noted()) return outcome::interrupted;
        const std::size_t step = roots.step_of(blocks);
        state.apply_irreversible(blocks.first(step));
        if (options.validate) validate(state, *blocks.front(), options);
        if (!roots.compare()) return outcome::other_root;
        blocks = blocks.subspan(step);
    }
    return std::nullopt;
}

outcome apply_blocks(chain_state& state, block_feed& feed, const block_log_reader& log,
                     const replay_options& options, const catch_interruption& signals,
                     root_comparison& roots, progress& shown) {
    std::vector<const decoded_block*> run;
    std::uint64_t position = 0;
    while (!signals.noted()) {
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
    if (signals.noted()) return outcome::interrupted;
    return log.empty() || *log.head_number() <= state.head() ? outcome::end_of_log
                                                             : outcome::stop_reached;
}

/// 0 stands for the head of a state without blocks: a block of that number could not be told from
/// it.
void require_no_block_0(const block_log_reader& log) {
    if (log.first_number() == 0)
        throw rejected_error(log.path().string() +
                             ": its first block has the number 0, and the blocks of a chain are "
                             "numbered from 1 on; make the log again with its own numbers plus 1");
}

std::string where(const chain_state& state, const replay_options& options) {
    return "the state " + options.state.string() + " stands at block " +
           std::to_string(state.head());
}

std::string number_of(const std::optional<block_log_stream::encoded_block>& next) {
    return next ? "block " + std::to_string(next->number) : "nothing";
}

/// The log goes on where the state stands. One that begins behind it (a piece of a longer log) does
/// so only if the caller says which of its blocks is the next one.
void require_begin(chain_state& state, const block_log_reader& log, const replay_options& options) {
    if (!options.from) return state.go_on_with(log);
    const std::uint64_t from = *options.from;
    const bool begins_behind = log.first_number().value_or(0) > state.head();
    if (!begins_behind) state.go_on_with(log);
    if (from <= state.head() && !begins_behind) return; // it began there before
    const auto next = log.stream(state.head() + 1).next_encoded();
    if (next && next->number == from) return;
    throw usage_error(where(state, options) + ", and what follows in " + log.path().string() +
                      " is " + number_of(next) + ", not block " + std::to_string(from) +
                      "; say --from with the number that follows, or use the log that has block " +
                      std::to_string(from));
}

} // namespace

replay_report replay(const replay_options& options, const catch_interruption& signals) {
    const block_log_reader log = open_log(options.block_log);
    require_no_block_0(log);
    chain_state state(options.state, log.chain(), 0, options.promise);
    require_begin(state, log, options);
    if (options.stop_at) state.require_not_beyond(*options.stop_at);
    const std::uint64_t blocks_before = state.blocks();
    const std::uint64_t operations_before = state.operations();

    root_comparison roots(state, options);
    progress shown(state, log.position_of(state.head()),
                   options.stop_at ? log.position_of(*options.stop_at) : log.bytes());
    block_feed feed(log, decoder_of(log.chain()),
                    {state.head() + 1, options.stop_at, preparing_threads(options.threads)});
    const outcome how = apply_blocks(state, feed, log, options, signals, roots, shown);
    if (how == outcome::end_of_log) state.finish();
    const double seconds = shown.seconds();
    shown.finish(state, in_words(how));

    replay_report report = report_on(state, how == outcome::interrupted);
    report.seconds = seconds;
    report.waited = feed.waited();
    report.replayed_blocks = state.blocks() - blocks_before;
    report.replayed_operations = state.operations() - operations_before;
    if (options.verify && !report.interrupted) report.verified = verified(state);
    if (report.root) roots.report(*report.root);
    if (options.verify_root && !report.interrupted) {
        state.root()->verify();
        report.root->is_recomputed = true;
    }
    state.close(); // nothing is reported as done that is not on disk
    return report;
}

} // namespace chainbase::driver
