#include <chainbase/database.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/driver/chain_gauges.hpp>
#include <tools/driver/live/live.hpp>
#include <tools/driver/live/load.hpp>
#include <tools/driver/live/load_generator.hpp>
#include <tools/report_json.hpp>
#include <tools/text_table.hpp>

#include <fmt/format.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

namespace chainbase::driver {

extern const std::string_view load_plot_script; ///< load.gp

} // namespace chainbase::driver

namespace chainbase::driver::live {

namespace {

/// Chain time advances one second per block, whatever the interval.
constexpr std::int64_t begin_of_chain = 1'700'000'000;

/// Blocks after the last transaction was sent: a transaction in time is in one of them.
constexpr int blocks_after = 3;

/// A temporary folder, in memory if possible, removed with the object.
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
        spdlog::info("the state is in {}, and is removed at the end", name);
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

/// One measurement: a chain that was set up, and the rates tried on it.
class measurement {
public:
    measurement(chain_state& state, workload& sent, const load_options& options,
                const catch_interruption& signals)
        : state_(state), sent_(sent), options_(options), signals_(signals),
          readers_(state, options.reading), recorder_(readers_, criterion_) {}

    [[nodiscard]] load_step step(double rate) {
        prepare(rate);
        if (signals_.caught()) return {};
        const auto most = static_cast<std::size_t>(std::ceil(rate * (options_.seconds + 1)));
        arrivals queue(most);
        live_node node(state_, queue, {options_.batch, most, UINT64_MAX / 2});
        recorder_.begin_step(rate);
        const auto begin = clock::now();
        const auto sends = std::chrono::duration_cast<nanoseconds>(
            std::chrono::duration<double>(options_.seconds));
        load_generator generator(sent_, queue, rate, begin, begin + sends, recorder_.offered());
        run_blocks(node, queue, begin);
        generator.stop();
        const double took = seconds_of(clock::now() - begin);
        load_step ended = recorder_.end_step();
        const lock_figures& lock = node.figures().lock;
        ended.seconds = std::min(options_.seconds, took);
        ended.write_lock = {static_cast<double>(lock.acquisitions) / took,
                            seconds_of(lock.held) / took, seconds_of(lock.waited) / took};
        ended.rejected += node.figures().rejected;
        ended.failed = criterion_.judge(ended);
        node.drop();
        ended.state_bytes = state_.memory().total;
        return ended;
    }
    [[nodiscard]] std::vector<load_second> seconds() const { return recorder_.seconds(); }
    void stop() { readers_.stop(); }

private:
    void prepare(double rate) {
        const double blocks = options_.seconds / seconds_of(options_.interval) + blocks_after;
        sent_.prepare(static_cast<std::size_t>(std::ceil(rate * options_.seconds)) + 1,
                      state_.head_time() + static_cast<std::int64_t>(std::ceil(blocks)), signals_);
    }
    /// Makes a block every interval, until every transaction sent could be in one, or a block is
    /// late: later ones would be no better.
    void run_blocks(live_node& node, arrivals& queue, clock::time_point begin) {
        const auto blocks = static_cast<int>(
            std::ceil(options_.seconds / seconds_of(options_.interval)) + blocks_after);
        auto due = begin;
        for (int i = 0; i < blocks && !signals_.caught(); ++i) {
            due += options_.interval;
            await_block(node, queue, due);
            made_block made = node.make_block(state_.head_time() + 1);
            const auto done = clock::now();
            recorder_.note(std::move(made), due, done);
            recorder_.note_pending(node.pending().size() + queue.waiting());
            gauges_.update(state_);
            readers_.require_fine();
            if (done - due > options_.interval) return;
        }
    }
    void await_block(live_node& node, arrivals& queue, clock::time_point due) {
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

    chain_state& state_;
    workload& sent_;
    const load_options& options_;
    const catch_interruption& signals_;
    const load_criterion criterion_{options_.interval};
    readers readers_;
    load_recorder recorder_;
    chain_gauges gauges_;
};

void set_up(chain_state& state, workload& chain, const catch_interruption& signals) {
    const block_decoder decode = decoder_of(chain.chain());
    while (!signals.caught()) {
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
                 step.sustained() ? "" : ": not sustained, ", step.failed);
}

void raise_until_it_fails(measurement& all, const load_options& options,
                          const catch_interruption& signals, load_report& report) {
    for (std::optional<double> rate = options.steps.start; rate && !signals.caught();
         rate = options.steps.after(*rate)) {
        load_step step = all.step(*rate);
        if (signals.caught()) return; // interrupted
        say(step);
        report.steps.push_back(std::move(step));
        if (!report.steps.back().sustained()) return;
    }
}

void require_new(const std::filesystem::path& state) {
    if (std::filesystem::exists(state))
        throw usage_error(state.string() + " exists already, and a measurement begins with a chain "
                                           "of its own; name another folder");
}

} // namespace

std::optional<load_step> load_report::sustained() const {
    const auto last = std::find_if(steps.rbegin(), steps.rend(),
                                   [](const load_step& one) { return one.sustained(); });
    return last == steps.rend() ? std::nullopt : std::optional(*last);
}

double load_report::sustained_rate() const {
    const auto best = sustained();
    return best ? best->rate : 0;
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
    state_options state_settings;
    state_settings.level = durability::process; // the state is removed at the end
    chain_state state(folder, sent->chain(), options.lag, state_settings);
    set_up(state, *sent, signals);
    report.set_up_seconds = seconds_of(clock::now() - begin);
    {
        measurement all(state, *sent, options, signals);
        raise_until_it_fails(all, options, signals, report);
        all.stop();
        report.seconds = all.seconds();
    }
    report.interrupted = signals.caught();
    state.model().check();
    report.state_digest = state.model().state_digest();
    state.close();
    return report;
}

namespace {

constexpr const char* names[] = {"load.csv", "load.json", "load.gp", "load.svg"};

double mebibytes(std::uint64_t bytes) {
    return static_cast<double>(bytes) / (1 << 20);
}

json json_of(const load_options& options) {
    return {{"workload", options.workload},
            {"accounts", options.accounts},
            {"seed", options.seed},
            {"interval_ms", milliseconds_of(options.interval)},
            {"pending_budget_ms", milliseconds_of(options.pending_budget)},
            {"step_seconds", options.seconds},
            {"readers", options.reading.threads},
            {"questions_per_second", options.reading.questions_per_second},
            {"batch", options.batch.transactions},
            {"lag", options.lag}};
}

void write_file(const std::filesystem::path& path, std::string_view content) {
    errno = 0; // streams do not report why they failed
    std::ofstream out(path, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out)
        throw io_error(path.string() + " cannot be written: " +
                       (errno != 0 ? std::strerror(errno) : "the stream failed"));
}

} // namespace

json report_value(const load_report& report) {
    json all = json_of(report.options);
    all.update(members_of(report));
    return all;
}

std::string to_text(const load_report& report) {
    const load_options& how = report.options;
    std::string text = fmt::format(
        "{} among {} accounts, a block every {:.0f} ms, {} readers with {:.0f} questions/s each\n"
        "the state engine's share only: no signatures, no consensus, no network\n",
        how.workload, how.accounts, milliseconds_of(how.interval), how.reading.threads,
        how.reading.questions_per_second);
    for (const load_step& one : report.steps) {
        text += fmt::format("{:>9.0f}/s  completed {:.0f}/s, {}\n", one.rate,
                            one.completed_per_second(),
                            one.sustained() ? "sustained" : "not sustained: " + one.failed);
        text +=
            fmt::format("             transactions {}\n             blocks       {}\n"
                        "             readers      {}\n",
                        in_words(one.transactions), in_words(one.blocks), in_words(one.readers));
    }
    const auto best = report.sustained();
    text += best ? fmt::format("sustained: {:.0f} transactions a second, state {}\n", best->rate,
                               bytes_in_words(best->state_bytes))
                 : std::string("sustained: none of these rates\n");
    return text + (report.interrupted ? "interrupted\n" : "");
}

std::string to_csv(const load_report& report) {
    std::string text =
        "second,rate,offered,completed,pending,latency_p50_ms,latency_p99_ms,latency_max_ms,"
        "block_max_ms,reader_p99_ms,resident_mib,state_mib\n";
    for (const load_second& one : report.seconds) {
        const auto ms = [](nanoseconds t) { return fmt::format("{:.3f}", milliseconds_of(t)); };
        const auto per_second = [&](std::uint64_t count) {
            return static_cast<double>(count) / one.length;
        };
        text += fmt::format("{:.2f},{:.0f},{:.0f},{:.0f},{},{},{},{},{},{},{:.1f},{:.1f}\n",
                            one.begin, one.rate, per_second(one.offered), per_second(one.completed),
                            one.pending, ms(one.transactions.quantile(0.5)),
                            ms(one.transactions.quantile(0.99)), ms(one.transactions.longest()),
                            ms(one.blocks.longest()), ms(one.readers.quantile(0.99)),
                            mebibytes(one.resident_bytes), mebibytes(one.shared_bytes));
    }
    return text;
}

load_files::load_files(std::filesystem::path folder) : folder_(std::move(folder)) {
    for (const char* name : names)
        if (std::filesystem::exists(folder_ / name))
            throw usage_error((folder_ / name).string() +
                              " exists already; name another folder, or move it away");
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (failed) throw io_error(folder_.string() + " cannot be made: " + failed.message());
}

std::optional<std::string> load_files::write(const load_report& report) const {
    write_file(folder_ / "load.csv", to_csv(report));
    write_file(folder_ / "load.json", line_of(chainbase::json_of(report)) + "\n");
    write_file(folder_ / "load.gp", load_plot_script);
    return plot();
}

std::optional<std::string> load_files::plot() const {
    const std::string again = "; the figures are in " + (folder_ / "load.csv").string() +
                              ", and \"gnuplot -c load.gp .\" in that folder plots them";
    std::string script = folder_ / "load.gp", folder = folder_, program = "gnuplot", option = "-c";
    char* const call[] = {program.data(), option.data(), script.data(), folder.data(), nullptr};
    pid_t process = 0;
    if (::posix_spawnp(&process, "gnuplot", nullptr, nullptr, call, environ) != 0)
        return "no plot: there is no gnuplot (Debian: gnuplot-nox)" + again;
    int status = 0;
    if (::waitpid(process, &status, 0) != process || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return "no plot: gnuplot failed" + again;
    return std::nullopt;
}

} // namespace chainbase::driver::live
