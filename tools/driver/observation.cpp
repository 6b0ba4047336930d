#include <chainbase/trace/prometheus_text.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <tools/command_line.hpp>
#include <tools/driver/observation.hpp>

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <utility>
#include <vector>

namespace chainbase::driver {

namespace {

std::mutex mutex;
std::vector<const metrics_source*> sources;

} // namespace

metrics_source::metrics_source(std::function<std::string()> text) : text_(std::move(text)) {
    const std::lock_guard lock(mutex);
    sources.push_back(this);
}

metrics_source::~metrics_source() {
    const std::lock_guard lock(mutex);
    std::erase(sources, this);
}

std::string metrics_source::page() {
    const std::lock_guard lock(mutex);
    return sources.empty() ? std::string() : sources.back()->text_();
}

namespace {

http_answer answer_to(const http_request& request, const std::function<std::string()>& page) {
    if (request.path() == "/metrics")
        return {200, std::string(trace::prometheus_content_type), page(), {}};
    if (request.path() == "/")
        return {200,
                "text/html; charset=utf-8",
                "<!doctype html><title>chainbase</title><a href=\"/metrics\">metrics</a>\n",
                {}};
    return {404, "text/plain", "there is /metrics\n", {}};
}

http_options options_with(const http_limits& limits) {
    http_options options;
    options.name = "metrics";
    options.limits = limits;
    return options;
}

} // namespace

metrics_server::metrics_server(const listen_address& at, std::function<std::string()> page,
                               const http_limits& limits)
    : server_(at, options_with(limits)) {
    server_.serve(
        [page = std::move(page)](const http_request& request) { return answer_to(request, page); });
}

namespace {

const trace::gauge resident("process.resident.bytes");

/// Resident memory, including the state's pages.
double resident_bytes() {
    std::ifstream pages("/proc/self/statm");
    std::uint64_t all = 0;
    std::uint64_t in_memory = 0;
    pages >> all >> in_memory;
    return static_cast<double>(in_memory) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

} // namespace

void add_observation_options(command& verb, observation_options& options) {
    verb.add_option(
            "--trace", options.trace_file,
            "write every timed span to this file, for ui.perfetto.dev; it must be new, and ends "
            "at 1 GiB")
        .value_name("FILE");
    verb.add_option(
            "--trace-log", options.trace_log,
            "add a JSON line a second to this file: where the time goes; at 64 MiB it is renamed "
            "to FILE.1, and so on up to FILE.4")
        .value_name("FILE");
    verb.add_option("--metrics", options.metrics,
                    "serve metrics for Prometheus; :PORT for the loopback, port 0 for any")
        .value_name("ADDR:PORT");
}

observation::switched_on::switched_on() {
    trace::enable(true);
}

observation::switched_on::~switched_on() {
    trace::enable(false);
}

observation::observation(const observation_options& options) {
    if (!options.wanted()) return;
    std::optional<listen_address> at;
    if (!options.metrics.empty()) at = listen_address::parse(options.metrics);
    on_.emplace();
    if (at) {
        server_.emplace(*at, [] {
            resident.set(resident_bytes());
            return trace::prometheus_text(trace::snapshot()) + metrics_source::page();
        });
        spdlog::info("metrics: http://{}/metrics", server_->address());
    }
    if (!options.trace_log.empty()) log_.emplace(options.trace_log);
    // must not exist, so it is opened last
    if (!options.trace_file.empty()) file_.emplace(options.trace_file);
    ticker_.emplace("gauges", std::chrono::seconds(1), [] { resident.set(resident_bytes()); });
}

/// Stops the ticker first: its last call gives the reporters the last values.
observation::~observation() {
    ticker_.reset();
    server_.reset();
    file_.reset();
    log_.reset();
}

std::string observation::metrics_address() const {
    return server_ ? server_->address() : std::string();
}

} // namespace chainbase::driver
