#include <pool_allocator/error.hpp>
#include <tools/chains/rejected.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/progress.hpp>
#include <tools/driver/replay.hpp>

#include <string>

namespace chainbase::driver {

namespace {

enum class outcome { end_of_log, stop_reached, interrupted };

const char* in_words(outcome how) {
    switch (how) {
    case outcome::end_of_log:
        return "the end of the log";
    case outcome::stop_reached:
        return "the block to stop at";
    case outcome::interrupted:
        return "interrupted; the same call goes on";
    }
    return "";
}

/// Asked before the log is read on: what lies behind the block to stop at is none of our business.
bool is_reached(const std::optional<std::uint64_t>& stop_at, const chain_state& state,
                const block_log_reader& log) {
    return stop_at && state.head() >= *stop_at && log.head_number() > state.head();
}

outcome apply_blocks(chain_state& state, const block_log_reader& log, const replay_options& options,
                     const catch_interruption& signals, progress& shown) {
    if (is_reached(options.stop_at, state, log)) return outcome::stop_reached;
    block_log_stream blocks = log.stream(state.head() + 1);
    while (!signals.noted()) {
        if (is_reached(options.stop_at, state, log)) return outcome::stop_reached;
        const std::optional<block> next = blocks.next();
        if (!next) return outcome::end_of_log;
        if (options.stop_at && next->number > *options.stop_at) return outcome::stop_reached;
        state.apply(*next);
        shown.advance(state, blocks.position());
    }
    return outcome::interrupted;
}

/// 0 stands for the head of a state without blocks: a block of that number could not be told from
/// it.
void require_no_block_0(const block_log_reader& log) {
    if (log.first_number() == 0)
        throw rejected_error(log.path().string() +
                             ": its first block has the number 0, and the blocks of a chain are "
                             "numbered from 1 on; make the log again with its own numbers plus 1");
}

void require_before(const chain_state& state, const replay_options& options) {
    if (options.stop_at && state.head() > *options.stop_at)
        throw usage_error("the state " + options.state.string() + " stands at block " +
                          std::to_string(state.head()) + " already, beyond the block " +
                          std::to_string(*options.stop_at) +
                          " to stop at; name another folder, or a later block");
}

verification verified(const chain_state& state) {
    verification all = state.model().verify();
    std::string text;
    for (const std::string& problem : all.problems)
        text += (text.empty() ? "" : "; ") + problem;
    if (all.problem_count != 0)
        throw damaged_error("verify: " + std::to_string(all.problem_count) + " problem(s): " +
                            text + ". Replay into another folder, and keep this one to examine it");
    return all;
}

} // namespace

replay_report replay(const replay_options& options, const catch_interruption& signals) {
    const block_log_reader log(options.block_log);
    require_no_block_0(log);
    chain_state state(options.state, log.chain(), options.lag);
    state.require_made_from(log);
    require_before(state, options);
    const std::uint64_t blocks_before = state.blocks();
    const std::uint64_t operations_before = state.operations();

    progress shown(state, log.position_of(state.head()),
                   options.stop_at ? log.position_of(*options.stop_at) : log.bytes());
    const outcome how = apply_blocks(state, log, options, signals, shown);
    if (how == outcome::end_of_log) state.finish();
    const double seconds = shown.seconds();
    shown.finish(state, in_words(how));

    state.model().check();
    replay_report report = report_on(state, log.chain());
    report.interrupted = how == outcome::interrupted;
    report.seconds = seconds;
    report.replayed_blocks = state.blocks() - blocks_before;
    report.replayed_operations = state.operations() - operations_before;
    if (options.verify) report.verified = verified(state);
    state.close(); // nothing is reported as done that is not on disk
    return report;
}

} // namespace chainbase::driver
