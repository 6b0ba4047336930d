#include <chainbase/trace/interval_log.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/json.hpp>
#include <pool_allocator/trace/trace_clock.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <utility>

namespace chainbase::trace {

namespace {

std::string in_iso_8601(std::chrono::system_clock::time_point time) {
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
    const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), ms % 1000);
}

/// Numbers grow while a reading is taken, so a difference may mix two moments.
std::uint64_t since(std::uint64_t now, std::uint64_t before) {
    return now > before ? now - before : 0;
}

/// The longest span of an interval: exact if it is the longest ever, else its bucket's end.
std::uint64_t longest_in(const histogram& added, const span_reading& before,
                         const span_reading& now) {
    if (now.longest_ns > before.longest_ns) return now.longest_ns;
    return added.quantile(1, now.longest_ns);
}

void add_times(json_object& told, const span_reading& before, const span_reading& now,
               std::uint64_t interval_ns) {
    const bool sampled = now.how == kind::sampled;
    const auto named = [&](const char* name) {
        return (sampled ? "sampled_" : "") + std::string(name);
    };
    const auto guessed = [&](const char* name) {
        return (sampled ? "estimated_" : "") + std::string(name);
    };
    const histogram added = now.times.since(before.times);
    const std::uint64_t total = since(now.total_ns, before.total_ns);
    const std::uint64_t weight = std::max<std::uint64_t>(added.count(), 1);
    if (sampled) told.add("sampled", since(now.measured, before.measured));
    told.add(named("average_us"), microseconds(total) / static_cast<double>(weight));
    told.add(guessed("total_us"), microseconds(total));
    told.add(guessed("own_us"), microseconds(since(now.own_ns, before.own_ns)));
    told.add(guessed("share"),
             interval_ns ? static_cast<double>(total) / static_cast<double>(interval_ns) : 0.0);
    const std::uint64_t longest = longest_in(added, before, now);
    told.add(named("longest_us"), microseconds(longest));
    told.add(named("p50_us"), microseconds(added.quantile(0.5, longest)));
    told.add(named("p99_us"), microseconds(added.quantile(0.99, longest)));
}

std::string span_json(const span_reading& before, const span_reading& now, const reading& all,
                      std::uint64_t interval_ns) {
    json_object told;
    told.add("count", since(now.count, before.count));
    if (now.measured != before.measured) add_times(told, before, now, interval_ns);
    if (now.in_flight != 0) told.add("in_flight", now.in_flight);
    if (now.in_flight != 0 && now.in_flight_since_ns)
        told.add("in_flight_seconds",
                 static_cast<double>(since(all.at_ns, *now.in_flight_since_ns)) / 1e9);
    return told.text();
}

/// Recognised by the beginning of its first line.
bool is_missing_or_log(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return true;
    if (!std::filesystem::is_regular_file(file)) return false;
    constexpr std::string_view begin = R"({"time":)";
    std::array<char, begin.size()> read{};
    std::ifstream in(file, std::ios::binary);
    in.read(read.data(), read.size());
    const auto count = static_cast<std::size_t>(in.gcount());
    return (count == 0 && in.eof()) || std::string_view(read.data(), count) == begin;
}

} // namespace

std::string interval_line(const reading& before, const reading& now,
                          std::chrono::system_clock::time_point time) {
    const std::uint64_t interval = since(now.at_ns, before.at_ns);
    const double seconds = static_cast<double>(interval) / 1e9;
    json_object spans;
    for (std::size_t s = 0; s < now.spans.size(); ++s) {
        const span_reading none;
        const span_reading& then = s < before.spans.size() ? before.spans[s] : none;
        if (now.spans[s].count != then.count || now.spans[s].in_flight != 0)
            spans.add_json(valid_utf8(now.spans[s].name),
                           span_json(then, now.spans[s], now, interval));
    }
    json_object counters;
    for (std::size_t c = 0; c < now.counters.size(); ++c) {
        const std::uint64_t then = c < before.counters.size() ? before.counters[c].value : 0;
        const std::uint64_t count = since(now.counters[c].value, then);
        const double rate = seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
        counters.add_json(valid_utf8(now.counters[c].name),
                          json_object().add("count", count).add("rate", rate).text());
    }
    json_object gauges;
    for (const gauge_reading& gauge : now.gauges)
        gauges.add(valid_utf8(gauge.which.first.empty() ? gauge.name
                                                        : gauge.name + "{" + gauge.which.first +
                                                              "=" + gauge.which.second + "}"),
                   gauge.value);
    return json_object()
        .add("time", in_iso_8601(time))
        .add("seconds", seconds)
        .add_json("spans", spans.text())
        .add_json("counters", counters.text())
        .add_json("gauges", gauges.text())
        .text();
}

interval_log::interval_log(const std::filesystem::path& file, const interval_log_options& options)
    : options_(options), path_(file), last_(snapshot()) {
    require_own_files();
    file_.emplace(file, growing_file::existing::is_continued);
    writer_ = std::make_unique<ticker>("trace-log", options_.interval, [this] { add_line(); });
}

interval_log::~interval_log() {
    if (writer_ && !writer_->is_here()) leak(std::move(writer_));
    writer_.reset(); // before what it uses
}

void interval_log::add_line() noexcept {
    if (!file_) return;
    try {
        const reading before = std::exchange(last_, snapshot());
        const std::string line =
            interval_line(before, last_, std::chrono::system_clock::now()) + "\n";
        if (file_->bytes() != 0 && file_->bytes() + line.size() > options_.most_bytes) rotate();
        file_->append(line);
    } catch (const std::exception& problem) {
        file_.reset();
        spdlog::warn("{}: the trace log ends here: {}", path_.c_str(), problem.what());
    }
}

/// LOG, LOG.1, LOG.2, ...
std::filesystem::path interval_log::numbered(unsigned number) const {
    return number == 0 ? path_
                       : std::filesystem::path(path_.string() + "." + std::to_string(number));
}

/// Files are renamed and removed here, so none may be foreign.
void interval_log::require_own_files() const {
    for (unsigned number = 0; number <= options_.kept; ++number)
        if (!is_missing_or_log(numbered(number)))
            throw usage_error(numbered(number).string() +
                              ": exists and is not a trace log; name another file for the trace "
                              "log, or move this one away");
}

void interval_log::rotate() {
    file_.reset();
    require_own_files();
    for (unsigned number = options_.kept; number > 0; --number)
        if (std::filesystem::exists(numbered(number - 1)))
            std::filesystem::rename(numbered(number - 1), numbered(number));
    if (options_.kept == 0) std::filesystem::remove(path_);
    file_.emplace(path_, growing_file::existing::is_continued);
}

} // namespace chainbase::trace
