#pragma once

#include <tools/inspect/memory/live_sample.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace chainbase::inspect {

/// A sample for charts; README.md lists the members. Bytes of memory are those allocated by the
/// file system. `rates`: since the sample before, if any.
[[nodiscard]] nlohmann::ordered_json to_json(const live_sample& sample,
                                             const std::optional<live_rates>& rates,
                                             const state_growth& growth);

/// Unix seconds.
[[nodiscard]] double unix_seconds(std::chrono::system_clock::time_point when);

struct history_options {
    std::chrono::milliseconds pause{1'000};       ///< between samples while clients ask
    std::chrono::milliseconds idle_pause{10'000}; ///< between samples otherwise
    /// a client counts as asking for this time after a call
    std::chrono::milliseconds attention{5'000};
    std::size_t samples = 3'600; ///< maximum kept
};

/// Recent samples, taken by a separate thread whatever happens to the state: an unreadable state
/// gives a sample with the error. Thread-safe.
///
/// Samples are numbered from 1. When the path's types are no continuation of the earlier ones,
/// another state replaced it: the history starts again, with another `begun`.
class sample_history {
public:
    /// Takes the first sample and throws its error.
    explicit sample_history(const std::filesystem::path& state,
                            const history_options& options = {});
    ~sample_history();
    sample_history(const sample_history&) = delete;
    sample_history& operator=(const sample_history&) = delete;

    /// `{schema_version, begun, state, types[], samples[]}` with the kept samples after this
    /// number; README.md lists their members. 0: all.
    [[nodiscard]] std::string after(std::uint64_t number);
    /// As after(), with the last `sample` in place of `samples[]`. Waits for a new one if the last
    /// is older than a pause.
    [[nodiscard]] std::string latest();

private:
    using clock = std::chrono::steady_clock;
    struct kept {
        std::uint64_t number;
        std::string json;
    };

    void work();
    void keep(const live_sample& sample);
    void keep_failure(const std::string& why);
    // These functions require the mutex.
    void push(nlohmann::ordered_json sample);
    void begin_anew(const live_sample& sample);
    void note_attention();
    [[nodiscard]] std::string head() const;
    [[nodiscard]] clock::duration pause() const;

    const history_options options_;
    live_sampler sampler_;            ///< takes in the thread only, once it runs
    std::mutex mutex_;                ///< protects the members below
    std::optional<live_sample> last_; ///< successful samples only
    growth_meter meter_;
    std::condition_variable changed_;
    std::string begun_;
    std::vector<std::string> types_;
    std::deque<kept> samples_;
    std::uint64_t taken_ = 0;
    clock::time_point last_taken_;
    clock::time_point last_call_;
    bool is_ending_ = false;
    std::thread thread_;
};

} // namespace chainbase::inspect
