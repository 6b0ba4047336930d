#include <chainbase/database.hpp>
#include <pool_allocator/error.hpp>
#include <tools/driver/chain_gauges.hpp>
#include <tools/driver/live/live_report.hpp>
#include <tools/driver/live/load.hpp>
#include <tools/driver/live/load_generator.hpp>
#include <tools/driver/live/workload.hpp>

#include <spdlog/spdlog.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace chainbase::driver::live {

namespace {

/// Chain time passes a second a block, however long an interval is.
constexpr std::int64_t begin_of_chain = 1'700'000'000;

/// Blocks that still come after the last transaction was sent: what is in time, is in one of them.
constexpr int blocks_after = 3;

/// A folder in memory, if there is such a place, that goes away with the object.
class scratch_state {
public:
    scratch_state() {
        namespace fs = std::filesystem;
        const fs::path memory = "/dev/shm";
        std::string name = (fs::is_directory(memory) ? memory : fs::temp_directory_path()) /
                           "chainbase-load-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr)
            throw io_error("no folder " + name + " can be made; name one with --state");
        path_ = name;
        spdlog::info("the state is in {}, and goes away at the end", name);
    }
    scratch_state(const scratch_state&) = delete;
    scratch_state& operator=(const scratch_state&) = delete;
    ~scratch_state() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] std::filesystem::path state() const { return path_ / "state"; }

private:
    std::filesystem::path path_;
};

std::unique_ptr<workload> make_workload(const load_options& options) {
    if (options.workload == "payments")
        return make_payments_workload(options.accounts, options.seed);
    if (options.workload == "social") return make_social_workload(options.accounts, options.seed);
    throw usage_error("there is no workload \"" + options.workload +
                      "\", only payments and social");
}

/// One measurement: a chain that was set up, and rates that are tried on it.
class measurement {
public:
    measurement(chain_state& state, workload& sent, const load_options& options,
                const catch_interruption& signals)
        : state_(state), sent_(sent), options_(options), signals_(signals),
          readers_(state, options.reading), clerk_(readers_, criterion_) {}

    [[nodiscard]] load_step step(double rate);
    [[nodiscard]] std::vector<load_second> seconds() const { return clerk_.seconds(); }
    void stop() { readers_.stop(); }

private:
    void prepare(double rate);
    void run_blocks(live_node& node, arrivals& queue, clock::time_point begin);
    void await_block(live_node& node, arrivals& queue, clock::time_point due);

    chain_state& state_;
    workload& sent_;
    const load_options& options_;
    const catch_interruption& signals_;
    const load_criterion criterion_{options_.interval};
    readers readers_;
    load_clerk clerk_;
    chain_gauges gauges_;
};

void measurement::prepare(double rate) {
    const double blocks = options_.seconds / seconds_of(options_.interval) + blocks_after;
    sent_.prepare(static_cast<std::size_t>(std::ceil(rate * options_.seconds)) + 1,
                  state_.head_time() + static_cast<std::int64_t>(std::ceil(blocks)), signals_);
}

load_step measurement::step(double rate) {
    prepare(rate);
    if (signals_.noted()) return {};
    const auto most = static_cast<std::size_t>(std::ceil(rate * (options_.seconds + 1)));
    arrivals queue(most);
    live_node node(state_, queue, {options_.batch, most, UINT64_MAX / 2});
    clerk_.begin_step(rate);
    const auto begin = clock::now();
    const auto sends =
        std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(options_.seconds));
    load_generator generator(sent_, queue, rate, begin, begin + sends, clerk_.offered());
    run_blocks(node, queue, begin);
    generator.stop();
    const double took = seconds_of(clock::now() - begin);
    load_step ended = clerk_.end_step();
    const lock_figures& lock = node.figures().lock;
    ended.seconds = std::min(options_.seconds, took);
    ended.lock_held = seconds_of(lock.held) / took;
    ended.lock_waited = seconds_of(lock.waited) / took;
    ended.acquisitions = static_cast<double>(lock.acquisitions) / took;
    ended.rejected += node.figures().rejected;
    ended.failed = criterion_.judge(ended);
    node.drop();
    ended.state_bytes = state_.memory().total;
    return ended;
}

/// A block every interval, until all that was sent had time to be in one, or a block is late: what
/// comes then is no better.
void measurement::run_blocks(live_node& node, arrivals& queue, clock::time_point begin) {
    const auto blocks = static_cast<int>(
        std::ceil(options_.seconds / seconds_of(options_.interval)) + blocks_after);
    auto due = begin;
    for (int i = 0; i < blocks && !signals_.noted(); ++i) {
        due += options_.interval;
        await_block(node, queue, due);
        made_block made = node.make_block(state_.head_time() + 1);
        const auto done = clock::now();
        clerk_.note(std::move(made), due, done);
        clerk_.note_pending(node.pending().size() + queue.waiting());
        gauges_.update(state_);
        readers_.require_fine();
        if (done - due > options_.interval) return;
    }
}

void measurement::await_block(live_node& node, arrivals& queue, clock::time_point due) {
    nanoseconds spent{0};
    const nanoseconds budget =
        options_.pending_budget.count() != 0 ? options_.pending_budget : options_.interval;
    for (auto now = clock::now(); now < due && spent < budget; now = clock::now()) {
        node.work(std::min(due, now + (budget - spent)));
        spent += clock::now() - now;
        queue.wait(due);
    }
    std::this_thread::sleep_until(due);
}

void set_up(chain_state& state, workload& chain, const catch_interruption& signals) {
    const block_decoder decode = decoder_of(chain.chain());
    while (!signals.noted()) {
        const std::uint64_t number = state.head() + 1;
        const auto next = chain.set_up(number, begin_of_chain + static_cast<std::int64_t>(number));
        if (!next) return;
        const auto one = decode(encode_block(*next));
        const decoded_block* const alone = one.get();
        state.apply_irreversible({&alone, 1});
    }
}

void say(const load_step& step) {
    spdlog::info("{:.0f}/s: {:.0f}/s completed, transactions {}; blocks {}; readers {}{}{}",
                 step.rate, step.completed_per_second(), in_words(step.transactions),
                 in_words(step.blocks), in_words(step.readers),
                 step.failed.empty() ? "" : ": not sustained, ", step.failed);
}

void raise_until_it_fails(measurement& all, const load_options& options,
                          const catch_interruption& signals, load_report& report) {
    for (std::optional<double> rate = options.steps.start; rate && !signals.noted();
         rate = options.steps.after(*rate)) {
        load_step step = all.step(*rate);
        if (signals.noted()) return; // it was cut short
        say(step);
        report.steps.push_back(std::move(step));
        if (!report.steps.back().failed.empty()) return;
    }
}

void require_new(const std::filesystem::path& state) {
    if (std::filesystem::exists(state))
        throw usage_error(state.string() + " exists already, and a measurement begins with a chain "
                                           "of its own; name another folder");
}

} // namespace

const load_step* load_report::best() const noexcept {
    const load_step* last = nullptr;
    for (const load_step& one : steps)
        if (one.failed.empty()) last = &one;
    return last;
}

load_report load(const load_options& options, const catch_interruption& signals) {
    load_report report;
    report.options = options;
    const auto sent = make_workload(options);
    std::optional<scratch_state> scratch;
    if (options.state.empty()) scratch.emplace();
    const std::filesystem::path folder = scratch ? scratch->state() : options.state;
    require_new(folder);
    const auto begin = clock::now();
    promise_options promise;
    promise.level = durability::process; // it is removed at the end
    chain_state state(folder, sent->chain(), options.lag, promise);
    set_up(state, *sent, signals);
    report.set_up_seconds = seconds_of(clock::now() - begin);
    {
        measurement all(state, *sent, options, signals);
        raise_until_it_fails(all, options, signals, report);
        all.stop();
        report.seconds = all.seconds();
    }
    report.interrupted = signals.noted();
    state.model().check();
    report.state_digest = state.model().state_digest();
    state.close();
    return report;
}

} // namespace chainbase::driver::live
