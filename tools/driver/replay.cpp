#include <pool_allocator/error.hpp>
#include <tools/chains/checked.hpp>
#include <tools/driver/block_feed.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/log_progress.hpp>
#include <tools/driver/progress.hpp>
#include <tools/driver/replay.hpp>
#include <tools/driver/root/chain_root.hpp>

#include <algorithm>
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
    return std::clamp(static_cast<std::size_t>(archived) / 8, block_hand_over, most_handed_over);
}

unsigned preparing_threads(unsigned asked) noexcept {
    const unsigned others = std::max(std::thread::hardware_concurrency(), 2u) - 1;
    return asked != 0 ? asked : std::min(others, 4u);
}

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
    /// Begins with the blocks that the state has. Throws usage_error when it has no root to be
    /// looked at, or one of other types, or when no block can be compared.
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

    /// How many blocks make the next step: one, when it is compared, so that the state stays as
    /// after it.
    [[nodiscard]] std::size_t step_of(run_of_blocks waiting) const {
        return expected_ ? 1 : driver::step_of(waiting);
    }
    /// After a step.
    void compare() {
        if (expected_) (void)compare(*state_.root()->of_block(state_.head()));
    }
    /// Whether all was as expected so far.
    [[nodiscard]] bool is_same() const noexcept { return !differs_; }
    void report(reported_root& to) const {
        to.compared = compared_;
        if (expected_) to.with = expected_->source.string();
        to.differs = differs_;
    }
    /// At the end of the log. Throws usage_error.
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
                          std::to_string(last_expected()) + ", and none of those that " +
                          options_.state.string() + ", at block " + std::to_string(state_.head()) +
                          ", has or was to get; nothing was compared");
    }

    const chain_state& state_;
    const replay_options& options_;
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
        roots.compare();
        if (!roots.is_same()) return outcome::other_root;
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

/// As far as it can be known before a state is made.
void require_root(const replay_options& options) {
    const bool is_looked_at = options.verify_root || options.expected;
    if (is_looked_at && !options.promise.root.types && !std::filesystem::exists(options.state))
        root_comparison::throw_no_root(options.state);
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
    require_root(options);
    chain_state state(options.state, log.chain(), 0, options.promise);
    require_begin(state, log, options);
    if (options.stop_at) state.require_not_beyond(*options.stop_at);
    state.settle_root();
    const std::uint64_t blocks_before = state.blocks();
    const std::uint64_t operations_before = state.operations();

    root_comparison roots(state, options);
    progress shown(state, log.position_of(state.head()),
                   options.stop_at ? log.position_of(*options.stop_at) : log.bytes());
    block_feed feed(log, decoder_of(log.chain()),
                    {state.head() + 1, options.stop_at, preparing_threads(options.threads)});
    const outcome how = roots.is_same()
                            ? apply_blocks(state, feed, log, options, signals, roots, shown)
                            : outcome::other_root;
    if (how == outcome::end_of_log) state.finish();
    const double seconds = shown.seconds();
    shown.finish(state, in_words(how));

    if (how == outcome::end_of_log || how == outcome::stop_reached) roots.require_any();
    if (options.verify_root && how != outcome::interrupted) state.root()->verify();
    replay_report report = report_on(state, how == outcome::interrupted);
    // Books that do not add up come with another root, which tells more of them.
    if (report.broken_books && how != outcome::other_root)
        throw damaged_error(*report.broken_books);
    report.seconds = seconds;
    report.waited = feed.waited();
    report.replayed_blocks = state.blocks() - blocks_before;
    report.replayed_operations = state.operations() - operations_before;
    if (options.verify && !report.interrupted) report.verified = verified(state);
    if (report.root) roots.report(*report.root);
    if (report.root) report.root->is_recomputed = options.verify_root && !report.interrupted;
    state.close(); // nothing is reported as done that is not on disk
    return report;
}

} // namespace chainbase::driver
