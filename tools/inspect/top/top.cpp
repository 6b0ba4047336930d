#include <pool_allocator/base/error.hpp>
#include <tools/archive_figures.hpp>
#include <tools/inspect/serve/sample_history.hpp>
#include <tools/inspect/state_call.hpp>
#include <tools/inspect/top/dashboard.hpp>
#include <tools/inspect/top/terminal_screen.hpp>
#include <tools/inspect/verbs.hpp>
#include <tools/interruption.hpp>
#include <tools/report_json.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <thread>

namespace chainbase::inspect {

// The JSON members of parts of the report, in order.
BOOST_DESCRIBE_STRUCT(lock_watch::shares, (),
                      (looks, writing, writer_waiting, reading, readers_waiting))

namespace {

json types_of(const top_sample& sample) {
    json types = json::array();
    const std::vector<type_report>& all = sample.now.state.types;
    for (std::size_t each = 0; each < all.size(); ++each) {
        const measured total = all[each].total();
        const state_growth::part& gained = sample.growth.types[each];
        types.push_back(
            {{"name", all[each].name},
             {"objects", all[each].objects},
             {"used_bytes", total.bytes.header + total.bytes.links + total.bytes.values},
             {"slack_bytes", total.bytes.slack},
             {"punched_bytes", total.bytes.punched},
             {"file_bytes", total.file_bytes},
             {"resident", json_of(total.cached.resident)},
             {"dirty", json_of(total.cached.dirty)},
             {"missing", json_of(total.cached.missing)},
             {"per_minute",
              {{"objects", gained.objects},
               {"used_bytes", gained.used_bytes},
               {"file_bytes", gained.file_bytes}}}});
    }
    return types;
}

json times_of(const archive::latency_histogram& seen) {
    const archive::latency_reading all = seen.read();
    const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e3; };
    return {{"count", all.count()},
            {"p50_us", us(all.quantile(0.5))},
            {"p99_us", us(all.quantile(0.99))},
            {"longest_us", us(all.longest_ns())}};
}

json looks_of(const lock_watch& locks) {
    json all = json_of(locks.last());
    all["write_turns"] = times_of(locks.write_turns);
    all["writer_waits"] = times_of(locks.writer_waits);
    all["read_turns"] = times_of(locks.read_turns);
    all["reader_waits"] = times_of(locks.reader_waits);
    return all;
}

/// A sample as a one-line JSON object; README.md lists its members.
std::string as_json_line(const std::string& state, const top_sample& sample,
                         const lock_watch& locks) {
    json line = {{"schema_version", 1}, {"state", state}};
    line.update(to_json(sample.now, sample.rates, sample.growth));
    line["growth_seconds"] = sample.growth.seconds;
    line["types"] = types_of(sample);
    line["lock_looks"] = looks_of(locks);
    line["archive_times"] =
        sample.now.archive ? chainbase::to_json(sample.now.archive->figures) : json(nullptr);
    line["checkpoints"] = json_of(sample.checkpoints);
    return line_of(line) + "\n";
}

/// The reason of a failed sample.
std::string as_json_line(const std::string& state, const std::string& failure) {
    const double now = unix_seconds(std::chrono::system_clock::now());
    return line_of({{"schema_version", 1}, {"state", state}, {"time", now}, {"error", failure}}) +
           "\n";
}

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Interval of lock samples, and the longest delay of a signal.
constexpr milliseconds step{50};

struct top_call : state_call {
    double interval = 1;
    std::uint64_t count = 0; ///< samples; 0: until a key or a signal

    [[nodiscard]] milliseconds pause() const {
        return std::chrono::round<milliseconds>(std::chrono::duration<double>(interval));
    }
};

/// The state may be missing or in the making; the next sample reports it.
template <typename Visitor>
void look_at_locks(const std::string& state, Visitor&& visit) {
    try {
        visit(lock_report::read(state));
    } catch (const std::exception&) {
    }
}

/// Calls take(sample) or failed(why), again after each pause while is_wanted(). Throws the first
/// sample's error.
class sample_loop {
public:
    explicit sample_loop(const top_call& asked) : asked_(asked), sampler_(asked.state) {}

    [[nodiscard]] bool is_done() const {
        return catch_interruption::caught() || (asked_.count != 0 && taken_ == asked_.count);
    }
    /// When the next sample is due.
    [[nodiscard]] clock::time_point due(milliseconds pause) const { return last_ + pause; }

    template <typename Take, typename Fail>
    void next(Take&& take, Fail&& failed) {
        const bool is_first = taken_++ == 0;
        last_ = clock::now();
        try {
            take(sampler_.take());
        } catch (const std::exception& problem) {
            if (is_first) throw;
            failed(std::string(problem.what()));
        }
    }

private:
    const top_call& asked_;
    top_sampler sampler_;
    clock::time_point last_;
    std::uint64_t taken_ = 0;
};

void print_lines(const top_call& asked) {
    sample_loop loop(asked);
    lock_watch watch;
    constexpr const char* then = "direct stdout elsewhere and call again";
    for (;;) {
        std::string line;
        loop.next(
            [&](const top_sample& sample) {
                watch.end_interval();
                line = as_json_line(asked.state, sample, watch);
            },
            [&](const std::string& why) { line = as_json_line(asked.state, why); });
        print_or_throw(line, then);
        if (loop.is_done()) return;
        while (!catch_interruption::caught() && clock::now() < loop.due(asked.pause())) {
            std::this_thread::sleep_for(
                std::min<clock::duration>(step, loop.due(asked.pause()) - clock::now()));
            look_at_locks(asked.state, [&](const lock_report& found) { watch.add(found); });
        }
        if (catch_interruption::caught()) return;
    }
}

void show(const top_call& asked) {
    sample_loop loop(asked);
    dashboard board(asked.state, asked.pause(), terminal_screen::is_unicode());
    const auto next = [&] {
        loop.next([&](top_sample sample) { board.add(std::move(sample)); },
                  [&](std::string why) { board.add_failure(std::move(why)); });
    };
    next(); // the state's error is printed before the terminal is taken over
    terminal_screen terminal;
    for (;;) {
        terminal.show(board.screen(terminal.columns(), terminal.lines()));
        if (loop.is_done()) return;
        const key_action key = terminal.wait(step);
        board.press(key);
        if (board.is_over() || catch_interruption::caught()) return;
        if (board.is_paused()) continue;
        look_at_locks(asked.state, [&](const lock_report& found) { board.look_at(found); });
        if (clock::now() >= loop.due(board.interval())) next();
    }
}

/// A key or a signal is the normal end.
void run_top(const top_call& asked) {
    const catch_interruption signals;
    asked.json ? print_lines(asked) : show(asked);
}

} // namespace

void declare_top(command& verb) {
    const auto asked = declare_look<top_call>(verb, run_top);
    verb.add_option("--interval", asked->interval, "Time between samples, 0.1 to 3600")
        .value_name("SECONDS")
        .real_number(0.1, 3600.0)
        .shows_default();
    verb.add_option("--count", asked->count, "End after this many samples")
        .whole_number(1, UINT64_MAX);
    verb.add_flag("--json", asked->json, "Print a JSON object a line instead; needs no terminal");
}

} // namespace chainbase::inspect
