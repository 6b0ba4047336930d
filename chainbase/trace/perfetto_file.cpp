#include <chainbase/trace/perfetto_file.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/json.hpp>
#include <pool_allocator/trace/trace_clock.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace chainbase::trace {

namespace {

/// For the note and the closing bracket.
constexpr std::uint64_t end_bytes = 512;

/// Names of threads are any bytes.
std::string json_string(const std::string& text) {
    return to_json(valid_utf8(text));
}

} // namespace

perfetto_file::perfetto_file(const std::filesystem::path& file, const perfetto_options& options)
    : options_(options), file_(file, growing_file::existing::is_refused),
      spans_(std::in_place, options.spans_per_thread), last_(snapshot()) {
    // Without a comma before or after: it may be the only element.
    file_.append(fmt::format("[\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,"
                             "\"args\":{{\"name\":\"chainbase\"}}}}\n",
                             ::getpid()));
    writer_ = std::make_unique<ticker>("trace-file", std::chrono::milliseconds(100),
                                       [this] { write_pending(); });
}

perfetto_file::~perfetto_file() {
    if (writer_ && !writer_->is_here()) {
        leak(std::move(writer_));
        return; // the file is the other process's
    }
    writer_.reset();
    if (stopped_) return;
    try {
        file_.append("]\n");
    } catch (const std::exception&) { // the array need not be closed
    }
}

void perfetto_file::write_pending() noexcept {
    if (stopped_) return;
    try {
        std::string text;
        add_events(text);
        if (const auto now = std::chrono::steady_clock::now(); now >= next_values_) {
            next_values_ = now + std::chrono::seconds(1);
            add_values(text);
        }
        append(std::move(text));
    } catch (const std::exception& problem) {
        give_up(problem.what());
    }
}

/// Each line begins with the comma that the one before lacks, so that the array may end anywhere.
void perfetto_file::add_events(std::string& text) {
    const int process = ::getpid();
    for (const recording::of_thread& thread : spans_->take()) {
        dropped_ += thread.dropped;
        if (thread.events.empty()) continue;
        name_thread(text, thread.thread, thread.name);
        for (const event& one : thread.events) {
            if (one.site >= site_names_.size()) learn_names();
            fmt::format_to(std::back_inserter(text),
                           ",{{\"ph\":\"X\",\"name\":{},\"ts\":{:.3f},\"dur\":{:.3f},\"pid\":{},"
                           "\"tid\":{}}}\n",
                           site_names_[one.site], microseconds(one.begin_ns),
                           microseconds(one.duration_ns), process, thread.thread);
        }
    }
}

void perfetto_file::learn_names() {
    const reading now = snapshot();
    for (std::size_t s = site_names_.size(); s < now.spans.size(); ++s)
        site_names_.push_back(json_string(now.spans[s].name));
}

void perfetto_file::name_thread(std::string& text, std::int64_t thread, const std::string& name) {
    std::string& known = thread_names_[thread];
    if (known == name) return;
    known = name;
    fmt::format_to(std::back_inserter(text),
                   ",{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":"
                   "{{\"name\":{}}}}}\n",
                   ::getpid(), thread, json_string(name));
}

void perfetto_file::add_value(std::string& text, const std::string& name, double value) {
    fmt::format_to(std::back_inserter(text),
                   ",{{\"ph\":\"C\",\"name\":{},\"ts\":{:.3f},\"pid\":{},\"args\":{{\"value\":{}}}"
                   "}}\n",
                   json_string(name), microseconds(last_.at_ns), ::getpid(), to_json(value));
}

void perfetto_file::add_values(std::string& text) {
    const reading before = std::exchange(last_, snapshot());
    const double seconds = static_cast<double>(last_.at_ns - before.at_ns) / 1e9;
    if (seconds <= 0) return;
    const auto rate = [&](std::uint64_t now, std::uint64_t then) {
        return static_cast<double>(now - then) / seconds;
    };
    for (std::size_t s = 0; s < last_.spans.size(); ++s) {
        const span_reading& span = last_.spans[s];
        if (span.how != kind::sampled) continue;
        const std::uint64_t then = s < before.spans.size() ? before.spans[s].count : 0;
        add_value(text, span.name + " per second", rate(span.count, then));
    }
    for (std::size_t c = 0; c < last_.counters.size(); ++c) {
        const std::uint64_t then = c < before.counters.size() ? before.counters[c].value : 0;
        add_value(text, last_.counters[c].name + " per second",
                  rate(last_.counters[c].value, then));
    }
    for (const gauge_reading& gauge : last_.gauges)
        add_value(text,
                  gauge.which.first.empty() ? gauge.name : gauge.name + " " + gauge.which.second,
                  gauge.value);
    add_value(text, "trace.dropped spans", static_cast<double>(dropped_));
}

void perfetto_file::add_note(std::string& text, const std::string& name) {
    fmt::format_to(std::back_inserter(text),
                   ",{{\"ph\":\"i\",\"s\":\"g\",\"name\":{},\"ts\":{:.3f},\"pid\":{},\"tid\":0}}\n",
                   json_string(name), microseconds(snapshot().at_ns), ::getpid());
}

void perfetto_file::append(std::string text) {
    const std::uint64_t room =
        options_.most_bytes - std::min(options_.most_bytes, file_.bytes() + end_bytes);
    if (text.size() <= room) return file_.append(text);
    const std::size_t last_line = room == 0 ? std::string::npos : text.rfind('\n', room - 1);
    text.resize(last_line == std::string::npos ? 0 : last_line + 1);
    add_note(text, fmt::format("the trace ends here: its limit of {} bytes", options_.most_bytes));
    file_.append(text + "]\n");
    give_up(fmt::format("reached its limit of {} bytes", options_.most_bytes));
}

void perfetto_file::give_up(std::string_view why) noexcept {
    spans_.reset();
    stopped_ = true;
    try {
        spdlog::warn("{}: no more spans are traced to it: {}", file_.path().string(), why);
    } catch (const std::exception&) { // nobody to report to
    }
}

} // namespace chainbase::trace
