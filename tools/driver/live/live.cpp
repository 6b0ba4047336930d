#include <pool_allocator/error.hpp>
#include <tools/driver/chain_gauges.hpp>
#include <tools/driver/live/announcing_source.hpp>
#include <tools/driver/live/live.hpp>
#include <tools/driver/progress.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace chainbase::driver::live {

namespace {

using json = nlohmann::ordered_json;

double rounded(double value, double to) {
    return std::round(value / to) * to;
}
double in_ms(nanoseconds duration) {
    return static_cast<double>((duration.count() + 500) / 1000) / 1000;
}
double share(nanoseconds part, double seconds) {
    return seconds > 0 ? seconds_of(part) / seconds : 0;
}
double rate(std::uint64_t count, double seconds) {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

} // namespace

json to_object(const latencies& all) {
    return {{"count", all.count()},
            {"p50_ms", in_ms(all.quantile(0.5))},
            {"p90_ms", in_ms(all.quantile(0.9))},
            {"p99_ms", in_ms(all.quantile(0.99))},
            {"p99_9_ms", in_ms(all.quantile(0.999))},
            {"max_ms", in_ms(all.longest())}};
}

json to_object(const lock_figures& lock, double seconds) {
    return {{"acquisitions", lock.acquisitions},
            {"acquisitions_per_second", rounded(rate(lock.acquisitions, seconds), 0.1)},
            {"waited_share", rounded(share(lock.waited, seconds), 1e-5)},
            {"held_share", rounded(share(lock.held, seconds), 1e-5)},
            {"longest_wait_ms", in_ms(lock.longest_wait)},
            {"longest_hold_ms", in_ms(lock.longest_hold)}};
}

std::string in_words(const latencies& all) {
    if (all.count() == 0) return "none";
    return fmt::format("p50 {:.3f}, p90 {:.3f}, p99 {:.3f}, p99.9 {:.3f}, max {:.3f} ms",
                       in_ms(all.quantile(0.5)), in_ms(all.quantile(0.9)),
                       in_ms(all.quantile(0.99)), in_ms(all.quantile(0.999)), in_ms(all.longest()));
}

std::string in_words(const lock_figures& lock, double seconds) {
    return fmt::format("taken {:.0f} times a second, held {:.2f} % and waited for {:.2f} % of the "
                       "time, at most {:.3f} and {:.3f} ms at once",
                       rate(lock.acquisitions, seconds), 100 * share(lock.held, seconds),
                       100 * share(lock.waited, seconds), in_ms(lock.longest_hold),
                       in_ms(lock.longest_wait));
}

std::string to_json(const live_report& report) {
    const live_figures& node = report.node;
    return json{{"chain", report.chain},
                {"head", report.head},
                {"irreversible", report.irreversible},
                {"blocks", node.blocks},
                {"operations", report.operations},
                {"seconds", report.seconds},
                {"ops_per_second", std::round(rate(report.operations, report.seconds))},
                {"interrupted", report.interrupted},
                {"pending",
                 {{"arrived", node.arrived},
                  {"refused", report.refused},
                  {"applied", node.applied},
                  {"rejected", node.rejected},
                  {"included", node.included},
                  {"forgotten", node.forgotten},
                  {"returned", node.returned}}},
                {"sync", driver::to_object(report.followed)},
                {"write_lock", to_object(node.lock, report.seconds)},
                {"block_times", to_object(report.block_times)},
                {"reader_times", to_object(report.reader_times)},
                {"segment_bytes", report.segment_bytes},
                {"state_digest", report.interrupted ? json(nullptr) : json(report.state_digest)}}
        .dump();
}

std::string to_text(const live_report& report) {
    const live_figures& node = report.node;
    std::string text = fmt::format(
        "{}: block {}, irreversible up to {}{}\n", report.chain, report.head, report.irreversible,
        report.interrupted ? ", interrupted: the same call goes on" : "");
    text += fmt::format("this run: {} blocks, {} operations in {:.2f} s, {:.0f} operations/s\n",
                        node.blocks, report.operations, report.seconds,
                        rate(report.operations, report.seconds));
    text +=
        fmt::format("pending: {} arrived, {} refused, applied {} times, {} rejected, {} came in "
                    "a block, {} never did, {} came back from one that was popped\n",
                    node.arrived, report.refused, node.applied, node.rejected, node.included,
                    node.forgotten, node.returned);
    text += driver::in_words(report.followed);
    text += "write lock: " + in_words(node.lock, report.seconds) + "\n";
    text += "blocks: " + in_words(report.block_times) + "\n";
    text += fmt::format("readers: {} questions, {}\n", report.reader_times.count(),
                        in_words(report.reader_times));
    text += "memory: " + bytes_in_words(report.segment_bytes) + "\n";
    return report.interrupted ? text : text + "state digest " + report.state_digest + "\n";
}

namespace {

/// A place to stop at between two blocks, however long the next one takes to come.
constexpr auto time_between_looks = std::chrono::milliseconds(100);

/// Transactions that may wait, whatever is asked for.
constexpr std::size_t least_room = std::size_t{1} << 16;

/// A node that is moved along a branch.
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

/// A state, and all that works on it.
struct opened_node {
    std::unique_ptr<chain_state> state;
    followed_node followed;
    readers asking;
    chain_gauges gauges;
    clock::time_point begin = clock::now();
    clock::time_point due = begin; ///< when the next block comes, at a fixed interval
    clock::time_point next_line = begin + std::chrono::seconds(1);

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

    /// What ended it; `nothing` when a signal did.
    [[nodiscard]] outcome follow();
    followed_chain& open(const std::string& chain);
    void work_until_due();
    void say();
    [[nodiscard]] live_report report(outcome end);

    const live_options& options_;
    const catch_interruption& signals_;
    const std::size_t room_ = std::max(4 * options_.pending, least_room);
    arrivals queue_;
    std::unique_ptr<block_source> blocks_;
    announcing_source source_;
    std::unique_ptr<opened_node> opened_;
    chain_sync sync_;
};

followed_chain& run::open(const std::string& chain) {
    const live_node::options how{options_.batch, room_, /*forget_after=*/1000};
    opened_ =
        std::make_unique<opened_node>(open_state(options_, chain), queue_, how, options_.reading);
    return opened_->followed;
}

run::outcome run::follow() {
    while (!signals_.noted()) {
        source_.announce();
        if (opened_) work_until_due();
        if (signals_.noted()) break;
        const outcome step = sync_.step(time_between_looks);
        if (step == outcome::end_of_chain || step == outcome::stop_reached) return step;
        if (step == outcome::applied) // what was missed while nothing came is not made up for
            opened_->due = std::max(opened_->due + options_.interval, clock::now());
        if (opened_) say();
    }
    return outcome::nothing;
}

/// What is pending is applied again, and until the next block comes, what arrives.
void run::work_until_due() {
    live_node& node = opened_->followed.node;
    node.work(clock::now() + options_.budget);
    const auto due = opened_->due + options_.interval;
    while (options_.interval.count() != 0 && clock::now() < due && !signals_.noted()) {
        node.work(due);
        queue_.wait(std::min(due, clock::now() + time_between_looks));
    }
}

void run::say() {
    opened_->gauges.update(*opened_->state);
    const auto now = clock::now();
    if (now < opened_->next_line) return;
    opened_->next_line = now + std::chrono::seconds(1);
    opened_->asking.require_fine();
    const live_node& node = opened_->followed.node;
    const double seconds = seconds_of(now - opened_->begin);
    spdlog::info(
        "block {}, {:.0f} operations/s; {} transactions pending, {} wait; write lock {}",
        opened_->state->head(), static_cast<double>(opened_->followed.operations) / seconds,
        node.pending().applied(), node.pending().waiting(), in_words(node.figures().lock, seconds));
}

live_report run::report(outcome end) {
    live_report report;
    report.followed = {sync_.so_far(), source_.so_far()};
    blocks_.reset(); // hangs up; what follows may take long
    if (!opened_)
        throw interrupted_error("interrupted before a peer has answered; nothing was changed, and "
                                "the same call goes on");
    followed_node& followed = opened_->followed;
    followed.node.drop();
    opened_->asking.stop();
    report.seconds = seconds_of(clock::now() - opened_->begin);
    report.node = followed.node.figures();
    report.operations = followed.operations;
    report.refused = queue_.refused();
    report.block_times = followed.block_times;
    report.reader_times = opened_->asking.take();

    const std::unique_ptr<chain_state> state = std::move(opened_->state);
    opened_.reset();
    report.interrupted = end == outcome::nothing;
    if (end == outcome::end_of_chain) state->finish();
    if (!report.interrupted) state->model().check();
    report.chain = state->chain();
    report.head = state->head();
    report.irreversible = state->irreversible();
    report.segment_bytes = state->memory().total;
    if (!report.interrupted) report.state_digest = state->model().state_digest();
    state->close(); // nothing is reported as done that is not on disk
    return report;
}

} // namespace

live_report live(const live_options& options, const catch_interruption& signals) {
    return run(options, signals).work();
}

} // namespace chainbase::driver::live
