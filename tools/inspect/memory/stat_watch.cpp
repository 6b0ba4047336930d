#include <tools/inspect/memory/stat.hpp>
#include <tools/inspect/memory/stat_watch.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <unistd.h>

#include <algorithm>
#include <thread>

namespace chainbase::inspect {

namespace {

using clock = std::chrono::steady_clock;

/// Home, each line cleared to its end, and what is below: without a flash of an empty screen.
std::string redrawn(const std::string& text) {
    std::string screen = "\x1b[H";
    for (const char letter : text)
        screen += letter == '\n' ? "\x1b[K\n" : std::string(1, letter);
    return screen + "\x1b[J";
}

/// A signal handler that returns does not end every sleep, so it is looked for.
void sleep_until_signal_or(clock::time_point end) {
    constexpr auto step = std::chrono::milliseconds(50);
    while (!catch_interruption::noted() && clock::now() < end)
        std::this_thread::sleep_for(std::min<clock::duration>(step, end - clock::now()));
}

} // namespace

exit_code watch_state(const watch_options& asked) {
    const catch_interruption signals;
    const bool is_drawn = !asked.json && ::isatty(STDOUT_FILENO) == 1;
    growth_meter meter;
    for (std::uint64_t samples = 1;; ++samples) {
        const auto begin = clock::now();
        const state_report state = read_state(asked.state);
        const state_growth growth = meter.add(state, clock::now());
        const auto archive = read_archive(asked.state);
        print_or_throw(is_drawn ? redrawn(as_text(state, archive) + "\n" + as_text(growth))
                                : as_json_line(state, archive, growth));
        const bool is_last = samples == asked.samples;
        if (!is_last) sleep_until_signal_or(begin + asked.pause);
        if (is_last || catch_interruption::noted()) return verdict_of(state, archive);
    }
}

} // namespace chainbase::inspect
