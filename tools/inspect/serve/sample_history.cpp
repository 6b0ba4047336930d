#include <chainbase/trace/quiet_thread.hpp>
#include <tools/inspect/serve/sample_history.hpp>
#include <tools/inspect/serve/sample_json.hpp>
#include <tools/report_json.hpp>

#include <nlohmann/json.hpp>

#include <exception>

namespace chainbase::inspect {

namespace {

using json = nlohmann::ordered_json;

} // namespace

sample_history::sample_history(const std::filesystem::path& state, const history_options& options)
    : options_(options), sampler_(state), last_call_(clock::now()) {
    keep(sampler_.take());
    thread_ = trace::quiet_thread("sampler", [this] { work(); });
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
