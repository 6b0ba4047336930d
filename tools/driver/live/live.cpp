#include <pool_allocator/base/error.hpp>
#include <tools/driver/chain_gauges.hpp>
#include <tools/driver/live/announcing_source.hpp>
#include <tools/driver/live/live.hpp>
#include <tools/progress.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>

namespace chainbase::driver::live {

std::string to_text(const live_report& report) {
    const pending_figures& pending = report.pending;
    std::string text = fmt::format(
        "{}: block {}, irreversible up to {}{}\n", report.chain, report.head, report.irreversible,
        report.interrupted ? ", interrupted: the same call goes on" : "");
    text += fmt::format("this run: {} blocks, {} operations in {}, {:.0f} operations/s\n",
                        report.blocks, report.operations, duration_in_words(report.seconds),
                        report.ops_per_second());
    text +=
        fmt::format("pending: {} arrived, {} came back from a popped block; of both, {} came in a "
                    "block, {} never did, {} were rejected; {} found the queue full; applied {} "
                    "times\n",
                    pending.arrived, pending.returned, pending.included, pending.forgotten,
                    pending.rejected, pending.refused, pending.applied);
    text += driver::in_words(report.sync);
    text += "write lock: " + in_words(report.write_lock) + "\n";
    text += "blocks: " + in_words(report.block_times) + "\n";
    text += fmt::format("readers: {} questions, {}\n", report.reader_times.count(),
                        in_words(report.reader_times));
    text += "memory: " + bytes_in_words(report.segment_bytes) + "\n";
    if (report.state_digest) text += "state digest " + *report.state_digest + "\n";
    return report.log_cut ? text + *report.log_cut + "\n" : text;
}

namespace {

/// Longest wait between two checks for a signal, also when no block comes.
constexpr auto time_between_looks = std::chrono::milliseconds(100);

/// Minimum size of the arrivals queue.
constexpr std::size_t min_room = std::size_t{1} << 16;

/// A node that follows a branch.
class followed_node final : public followed_chain {
public:
    followed_node(chain_state& state, arrivals& from, const live_node::options& how)
        : followed_chain(state), node(state, from, how) {}

    void apply(const decoded_block& next) override {
        const auto begin = clock::now();
        node.apply(next);
        block_times.record(clock::now() - begin);
        operations += next.operations();
    }
    void pop(std::shared_ptr<const decoded_block> last) override { node.pop(std::move(last)); }

    live_node node;
    latencies block_times;
    std::uint64_t operations = 0;
};

/// A state and everything that works on it.
struct opened_node {
    std::unique_ptr<chain_state> state;
    followed_node followed;
    readers asking;
    chain_gauges gauges;
    clock::time_point begin = clock::now();
    clock::time_point due = begin; ///< time of the next block at a fixed interval

    opened_node(std::unique_ptr<chain_state> of, arrivals& from, const live_node::options& how,
                const readers::options& reading)
        : state(std::move(of)), followed(*state, from, how), asking(*state, reading) {}
};

class run {
public:
    run(const live_options& options, const catch_interruption& signals)
        : options_(options), signals_(signals), queue_(room_), blocks_(make_block_source(options)),
          source_(*blocks_, queue_, {options.pending, options.shuffle}),
          sync_(source_, options.steps(),
                [this](const std::string& chain) -> followed_chain& { return open(chain); }) {}

    live_report work() { return report(follow()); }

private:
    using outcome = chain_sync::outcome;

    /// Why it ended; `nothing` when a signal came.
    [[nodiscard]] outcome follow() {
        while (!signals_.caught()) {
            source_.announce();
            if (opened_) work_until_due();
            if (signals_.caught()) break;
            const outcome step = sync_.step(time_between_looks);
            if (step == outcome::end_of_chain || step == outcome::stop_reached) return step;
            if (step == outcome::applied) // blocks missed while idle are not made up for
                opened_->due = std::max(opened_->due + options_.interval, clock::now());
            if (opened_) say();
        }
        return outcome::nothing;
    }
    followed_chain& open(const std::string& chain) {
        const live_node::options how{options_.batch, room_, /*forget_after=*/1000};
        opened_ = std::make_unique<opened_node>(open_state(options_, chain), queue_, how,
                                                options_.reading);
        return opened_->followed;
    }
    /// Applies pending transactions again, then new arrivals, until the next block is due.
    void work_until_due() {
        live_node& node = opened_->followed.node;
        node.work(clock::now() + options_.budget);
        const auto due = opened_->due + options_.interval;
        while (options_.interval.count() != 0 && clock::now() < due && !signals_.caught()) {
            node.work(due);
            queue_.wait(std::min(due, clock::now() + time_between_looks));
        }
    }
    void say() {
        opened_->gauges.update(*opened_->state);
        if (!shown_.is_due()) return;
        opened_->asking.require_fine();
        shown_.show(opened_->state->blocks(), 0, [&] {
            const live_node& node = opened_->followed.node;
            const double seconds = seconds_of(clock::now() - opened_->begin);
            return fmt::format(
                "block {}, {:.0f} operations/s; {} transactions pending, {} wait; write lock {}",
                opened_->state->head(), static_cast<double>(opened_->followed.operations) / seconds,
                node.pending().applied(), node.pending().waiting(),
                in_words(node.figures().lock.in(seconds)));
        });
    }
    [[nodiscard]] live_report report(outcome end) {
        live_report report;
        report.sync = figures_of(sync_, source_);
        blocks_.reset(); // disconnects: what follows may take long
        if (!opened_)
            throw interrupted_error(
                "interrupted before a peer has answered; nothing was changed, and "
                "the same call goes on");
        followed_node& followed = opened_->followed;
        followed.node.drop();
        opened_->asking.stop();
        report.seconds = seconds_of(clock::now() - opened_->begin);
        const live_figures& node = followed.node.figures();
        report.blocks = node.blocks;
        report.operations = followed.operations;
        report.pending = node;
        report.pending.refused = queue_.refused();
        report.write_lock = node.lock.in(report.seconds);
        report.block_times = followed.block_times;
        report.reader_times = opened_->asking.take();

        const std::unique_ptr<chain_state> state = std::move(opened_->state);
        opened_.reset();
        report.interrupted = end == outcome::nothing;
        if (end == outcome::end_of_chain) state->finish();
        if (end == outcome::end_of_chain) report.log_cut = cut_of(options_);
        if (!report.interrupted) state->model().check();
        report.chain = state->chain();
        report.head = state->head();
        report.irreversible = state->irreversible();
        report.segment_bytes = state->memory().total;
        if (!report.interrupted) report.state_digest = state->model().state_digest();
        state->close(); // nothing is reported as done before it is on disk
        return report;
    }

    const live_options& options_;
    const catch_interruption& signals_;
    const std::size_t room_ = std::max(4 * options_.pending, min_room);
    arrivals queue_;
    std::unique_ptr<block_source> blocks_;
    announcing_source source_;
    std::unique_ptr<opened_node> opened_;
    chain_sync sync_;
    progress shown_{"following", "blocks"};
};

} // namespace

live_report live(const live_options& options, const catch_interruption& signals) {
    return run(options, signals).work();
}

} // namespace chainbase::driver::live
