#include <pool_allocator/error.hpp>
#include <tools/driver/live/live_report.hpp>
#include <tools/driver/live/load_files.hpp>
#include <tools/driver/live/plot_script.hpp>
#include <tools/driver/progress.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

namespace chainbase::driver::live {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* names[] = {"load.csv", "load.json", "load.gp", "load.svg"};

double mebibytes(std::uint64_t bytes) {
    return static_cast<double>(bytes) / (1 << 20);
}

json to_object(const load_step& step) {
    return {{"rate", step.rate},
            {"seconds", step.seconds},
            {"offered", step.offered},
            {"completed", step.completed},
            {"in_time", step.in_time},
            {"rejected", step.rejected},
            {"completed_per_second", std::round(step.completed_per_second())},
            {"transactions", to_object(step.transactions)},
            {"blocks", to_object(step.blocks)},
            {"readers", to_object(step.readers)},
            {"write_lock",
             {{"acquisitions_per_second", step.acquisitions},
              {"held_share", step.lock_held},
              {"waited_share", step.lock_waited}}},
            {"state_bytes", step.state_bytes},
            {"sustained", step.failed.empty()},
            {"failed", step.failed}};
}

json to_object(const load_options& options) {
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
    errno = 0; // a stream does not say why it failed
    std::ofstream out(path, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out)
        throw io_error(path.string() + " cannot be written: " +
                       (errno != 0 ? std::strerror(errno) : "the stream failed"));
}

} // namespace

std::string to_json(const load_report& report) {
    json all = to_object(report.options);
    all["set_up_seconds"] = report.set_up_seconds;
    all["interrupted"] = report.interrupted;
    const load_step* best = report.best();
    all["sustained_rate"] = best ? best->rate : 0;
    all["sustained"] = best ? to_object(*best) : json(nullptr);
    all["steps"] = json::array();
    for (const load_step& one : report.steps)
        all["steps"].push_back(to_object(one));
    all["state_digest"] = report.state_digest;
    return all.dump();
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
                            one.failed.empty() ? "sustained" : "not sustained: " + one.failed);
        text +=
            fmt::format("             transactions {}\n             blocks       {}\n"
                        "             readers      {}\n",
                        in_words(one.transactions), in_words(one.blocks), in_words(one.readers));
    }
    const load_step* best = report.best();
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
                              " exists already; name another folder, or take it away");
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (failed) throw io_error(folder_.string() + " cannot be made: " + failed.message());
}

std::optional<std::string> load_files::write(const load_report& report) const {
    write_file(folder_ / "load.csv", to_csv(report));
    write_file(folder_ / "load.json", to_json(report) + "\n");
    write_file(folder_ / "load.gp", plot_script);
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
