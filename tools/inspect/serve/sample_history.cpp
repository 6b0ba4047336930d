#include <pool_allocator/base/background_thread.hpp>
#include <tools/inspect/memory/stat.hpp>
#include <tools/inspect/serve/sample_history.hpp>
#include <tools/inspect/state/locks.hpp>
#include <tools/report_json.hpp>

#include <algorithm>
#include <exception>

namespace chainbase::inspect {

// The JSON members of the rates, in order.
BOOST_DESCRIBE_STRUCT(live_rates, (),
                      (changes, revisions, objects, growth, archive_finds, archive_rows,
                       disk_read_per_second, disk_written_per_second, major_faults_per_second))

namespace {

/// Memory or disk used on the machine.
std::uint64_t occupied(const measured& part) {
    return part.bytes.total - std::min(part.bytes.punched, part.bytes.total);
}

json memory_of(const state_report& state) {
    json types = json::array();
    for (const type_report& type : state.types)
        types.push_back(occupied(type.total()));
    const measured total = state.total();
    const usage& bytes = total.bytes;
    return {{"header", occupied(state.header)},
            {"log", occupied(state.log)},
            {"buffers", occupied(state.buffers_total())},
            {"types", std::move(types)},
            {"total", occupied(total)},
            {"used", bytes.header + bytes.links + bytes.values},
            {"files", total.file_bytes},
            {"resident", json_of(total.cached.resident)},
            {"dirty", json_of(total.cached.dirty)},
            {"missing", json_of(total.cached.missing)}};
}

json locks_of(const lock_report& locks) {
    std::uint64_t reading = 0;
    std::uint64_t waiting = 0;
    double longest = 0;
    for (const lock_report::of_reader& one : locks.readers) {
        reading += one.what == lock_report::doing::inside ? 1 : 0;
        waiting += one.what == lock_report::doing::waiting ? 1 : 0;
        if (one.what == lock_report::doing::waiting) longest = std::max(longest, one.seconds);
    }
    return {{"writer", in_words(locks.writer.what, "writing")},
            {"writer_process", locks.writer.process},
            {"writer_alive", locks.writer.is_alive},
            {"writer_seconds", locks.writer.seconds},
            {"readers", locks.readers.size()},
            {"reading", reading},
            {"waiting", waiting},
            {"longest_wait", longest}};
}

json to_json(const archive::published_statistics& archive) {
    const archive::statistics_summary& figures = archive.figures;
    return {{"running", archive.closed == 0},
            {"hits", figures.hits_in_archive.count},
            {"misses", figures.misses.count},
            {"rows_put", figures.rows_put},
            {"hit_p99_ns", figures.hits_in_archive.p99_ns}};
}

} // namespace

double unix_seconds(std::chrono::system_clock::time_point when) {
    const auto since = std::chrono::floor<std::chrono::milliseconds>(when).time_since_epoch();
    return static_cast<double>(since.count()) / 1000;
}

json to_json(const live_sample& sample, const std::optional<live_rates>& rates,
             const state_growth& growth) {
    const state_report& state = sample.state;
    json objects = json::array();
    for (const type_report& type : state.types)
        objects.push_back(type.objects);
    return {{"time", unix_seconds(sample.time)},
            {"error", nullptr},
            {"condition", to_string(state.condition)},
            {"writer", state.writer},
            {"consistent", state.consistent},
            {"revision", state.revision},
            {"irreversible_revision", state.irreversible_revision},
            {"sessions", state.sessions},
            {"changes", state.changes},
            {"log_bytes_in_use", state.log.bytes.values},
            {"rates", json_of(rates)},
            {"used_per_minute", growth.whole.used_bytes},
            {"memory", memory_of(state)},
            {"objects", std::move(objects)},
            {"locks", locks_of(sample.locks)},
            {"archive", sample.archive ? to_json(*sample.archive) : json(nullptr)}};
}

sample_history::sample_history(const std::filesystem::path& state, const history_options& options)
    : options_(options), sampler_(state), last_call_(clock::now()) {
    keep(sampler_.take());
    thread_ = background_thread("sampler", [this] { work(); });
}

sample_history::~sample_history() {
    {
        const std::lock_guard hold(mutex_);
        is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void sample_history::work() {
    for (;;) {
        {
            std::unique_lock hold(mutex_);
            while (!is_ending_ && clock::now() < last_taken_ + pause())
                changed_.wait_until(hold, last_taken_ + pause());
            if (is_ending_) return;
        }
        try {
            keep(sampler_.take());
        } catch (const std::exception& problem) {
            keep_failure(problem.what());
        }
    }
}

sample_history::clock::duration sample_history::pause() const {
    return clock::now() < last_call_ + options_.attention ? options_.pause : options_.idle_pause;
}

void sample_history::keep(const live_sample& sample) {
    const std::vector<std::string> types = names_of_types(sample.state);
    const std::lock_guard hold(mutex_);
    if (!continues(types_, types) || begun_.empty()) begin_anew(sample);
    types_ = types;
    const state_growth growth = meter_.add(sample.state, sample.taken);
    std::optional<live_rates> rates;
    if (last_) rates = live_rates::between(*last_, sample);
    push(to_json(sample, rates, growth));
    last_ = sample;
}

void sample_history::begin_anew(const live_sample& sample) {
    begun_ = line_of(unix_seconds(sample.time));
    samples_.clear();
    taken_ = 0;
    last_.reset();
    meter_ = growth_meter();
}

void sample_history::keep_failure(const std::string& why) {
    const std::lock_guard hold(mutex_);
    push({{"time", unix_seconds(std::chrono::system_clock::now())}, {"error", why}});
}

void sample_history::push(json sample) {
    json numbered = {{"number", ++taken_}};
    numbered.update(sample);
    samples_.push_back({taken_, line_of(numbered)});
    if (samples_.size() > options_.samples) samples_.pop_front();
    last_taken_ = clock::now();
    changed_.notify_all();
}

std::string sample_history::head() const {
    return "{\"schema_version\":1,\"begun\":" + begun_ +
           ",\"state\":" + line_of(sampler_.state().string()) + ",\"types\":" + line_of(types_);
}

void sample_history::note_attention() {
    last_call_ = clock::now();
    changed_.notify_all();
}

std::string sample_history::after(std::uint64_t number) {
    const std::lock_guard hold(mutex_);
    note_attention();
    std::string all = head() + ",\"samples\":[";
    const char* separator = "";
    for (const kept& one : samples_) {
        if (one.number <= number) continue;
        all += separator + one.json;
        separator = ",";
    }
    return all + "]}\n";
}

std::string sample_history::latest() {
    std::unique_lock hold(mutex_);
    note_attention();
    const auto too_old = clock::now() - options_.pause;
    changed_.wait_for(hold, std::chrono::seconds(3), [&] { return last_taken_ >= too_old; });
    return head() + ",\"sample\":" + samples_.back().json + "}\n";
}

} // namespace chainbase::inspect
