#include <tools/driver/live/live_report.hpp>
#include <tools/driver/progress.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

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

} // namespace chainbase::driver::live
