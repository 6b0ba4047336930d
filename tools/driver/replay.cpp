#include <pool_allocator/error.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/progress.hpp>
#include <tools/driver/replay.hpp>

#include <string>

namespace chainbase::driver {

namespace {

enum class outcome { end_of_log, stop_reached, interrupted };

outcome apply_blocks(chain_state& state, block_log_stream& blocks, const replay_options& options,
                     const catch_interruption& signals, progress& shown) {
    while (!signals.noted()) {
        const std::optional<block> next = blocks.next();
        if (!next) return outcome::end_of_log;
        if (options.stop_at && next->number > *options.stop_at) return outcome::stop_reached;
        state.apply(*next);
        shown.advance(state, blocks.position());
    }
    return outcome::interrupted;
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
    chain_state state(options.state, log.chain(), options.lag);
    state.require_made_from(log);
    require_before(state, options);
    const std::uint64_t blocks_before = state.blocks();
    const std::uint64_t operations_before = state.operations();

    block_log_stream blocks = log.stream(state.head() + 1);
    progress shown(blocks.position(), log.bytes());
    const outcome how = apply_blocks(state, blocks, options, signals, shown);
    if (how == outcome::end_of_log) state.finish();
    const double seconds = shown.seconds();

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
