#include <pool_allocator/error.hpp>
#include <tools/driver/live/live.hpp>
#include <tools/driver/live/log_source.hpp>

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

namespace chainbase::driver::live {

namespace {

/// A place to stop at between two blocks, however long the next one takes to come.
constexpr auto between_looks = std::chrono::milliseconds(100);

/// Transactions that may wait, whatever is asked for.
constexpr std::size_t least_room = std::size_t{1} << 16;

class run {
public:
    run(chain_state& state, block_source& source, const live_options& options)
        : state_(state), source_(source), options_(options),
          queue_(std::max(4 * options.pending, least_room)),
          node_(state, queue_,
                {options.batch, std::max(4 * options.pending, least_room), /*forget_after=*/1000}),
          readers_(state, options.reading) {}

    /// Returns whether the source came to its end.
    bool blocks(const catch_interruption& signals);
    void report(live_report& to);

private:
    std::shared_ptr<const decoded_block> await(const catch_interruption& signals);
    void apply(const decoded_block& next);
    void say();

    chain_state& state_;
    block_source& source_;
    const live_options& options_;
    arrivals queue_;
    live_node node_;
    readers readers_;
    clock::time_point begin_ = clock::now();
    clock::time_point due_ = begin_; ///< when the next block comes
    clock::time_point next_line_ = begin_ + std::chrono::seconds(1);
    std::uint64_t operations_ = 0;
    latencies block_times_;
};

bool run::blocks(const catch_interruption& signals) {
    while (!signals.noted() && !source_.ended()) {
        due_ += options_.interval;
        source_.announce(queue_);
        node_.work(clock::now() + options_.budget);
        if (const auto next = await(signals)) apply(*next);
        say();
    }
    node_.drop();
    readers_.stop();
    return source_.ended();
}

/// Until the next block comes, what arrives is applied.
std::shared_ptr<const decoded_block> run::await(const catch_interruption& signals) {
    while (options_.interval.count() != 0 && clock::now() < due_ && !signals.noted()) {
        node_.work(due_);
        queue_.wait(std::min(due_, clock::now() + between_looks));
    }
    return signals.noted() ? nullptr : source_.next(clock::now() + between_looks);
}

void run::apply(const decoded_block& next) {
    const auto begin = clock::now();
    node_.apply(next);
    block_times_.record(clock::now() - begin);
    operations_ += next.operations();
}

void run::say() {
    const auto now = clock::now();
    if (now < next_line_) return;
    next_line_ = now + std::chrono::seconds(1);
    const live_figures& node = node_.figures();
    spdlog::info("block {}, {:.0f} operations/s; {} transactions pending, {} wait; write lock {}",
                 state_.head(), static_cast<double>(operations_) / seconds_of(now - begin_),
                 node_.pending().applied(), node_.pending().waiting(),
                 in_words(node.lock, seconds_of(now - begin_)));
}

void run::report(live_report& to) {
    to.seconds = seconds_of(clock::now() - begin_);
    to.node = node_.figures();
    to.blocks = to.node.blocks;
    to.operations = operations_;
    to.refused = queue_.refused();
    to.block_times = block_times_;
    to.reader_times = readers_.take();
}

} // namespace

live_report live(const live_options& options, const catch_interruption& signals) {
    const block_log_reader log(options.block_log);
    chain_state state(options.state, log.chain(), options.lag);
    state.require_made_from(log);
    if (options.stop_at && state.head() > *options.stop_at)
        throw usage_error("the state " + options.state.string() + " stands at block " +
                          std::to_string(state.head()) + " already, beyond the block " +
                          std::to_string(*options.stop_at) +
                          " to stop at; name another folder, or a later block");
    log_source source(log, {state.head() + 1, options.stop_at, options.pending, options.shuffle});

    live_report report;
    report.chain = log.chain();
    {
        run node(state, source, options);
        report.interrupted = !node.blocks(signals);
        node.report(report);
    }
    if (!report.interrupted && log.head_number().value_or(0) <= state.head()) state.finish();
    state.model().check();
    report.head = state.head();
    report.irreversible = state.irreversible();
    report.segment_bytes = state.memory().total;
    report.state_digest = state.model().state_digest();
    state.close();
    return report;
}

} // namespace chainbase::driver::live
