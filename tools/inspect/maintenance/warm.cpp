#include <pool_allocator/error.hpp>
#include <tools/bytes_in_words.hpp>
#include <tools/inspect/look_at.hpp>
#include <tools/inspect/maintenance/warm.hpp>
#include <tools/interruption.hpp>
#include <tools/print.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>

namespace chainbase::inspect {

namespace {

struct warm_call : warming_options {
    std::string state;
    bool json = false;
};

/// A line on stderr that is drawn over, ten times a second, and taken away at the end; nothing
/// where stderr is no terminal.
class progress_line {
public:
    ~progress_line() {
        if (is_drawn_) std::fputs("\r\x1b[K", stderr);
    }
    void show(std::uint64_t done, std::uint64_t all) {
        const auto now = std::chrono::steady_clock::now();
        if (!is_terminal_ || now - last_ < std::chrono::milliseconds(100)) return;
        const double seconds = std::chrono::duration<double>(now - begin_).count();
        const double rate = static_cast<double>(done) / seconds;
        fmt::print(stderr, "\r{} of {}, {} a second\x1b[K", bytes_in_words(done),
                   bytes_in_words(all), bytes_in_words(static_cast<std::uint64_t>(rate)));
        std::fflush(stderr);
        last_ = now;
        is_drawn_ = true;
    }

private:
    const bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
    bool is_drawn_ = false;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point last_ = begin_;
};

warming_report warmed(const warm_call& asked) {
    progress_line line;
    return warm_segment(asked.state, asked,
                        [&line](std::uint64_t done, std::uint64_t all) { line.show(done, all); });
}

exit_code run_warm(const warm_call& asked) {
    const catch_interruption signals;
    const warming_report found = warmed(asked);
    print_or_throw(asked.json ? as_json(found) : as_text(found));
    if (!found.is_interrupted) return exit_code::done;
    spdlog::warn("{}: interrupted; the same call goes on with what is not in memory yet",
                 asked.state);
    return exit_code::interrupted;
}

} // namespace

void add_warm(CLI::App& program, exit_code& result) {
    const auto asked = std::make_shared<warm_call>();
    CLI::App* verb = program.add_subcommand(
        "warm", "Bring a state into memory, so that the next start does not wait for the disk");
    verb->add_option("DIR", asked->state, "The folder of the state")->required();
    verb->add_flag("--hugepages", asked->huge_pages,
                   "Make huge pages of it, where kernel and file system can");
    verb->add_flag("--dry-run", asked->is_dry_run, "Tell what is in memory and do nothing");
    verb->add_flag("--json", asked->json, "Print one JSON object instead of a table");
    verb->callback(
        [asked, &result] { result = look_at(asked->state, [&] { return run_warm(*asked); }); });
}

} // namespace chainbase::inspect
