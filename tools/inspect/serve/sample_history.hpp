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

/// A sample for charts; README.md lists the members. Bytes of memory are those that the file system
/// holds. `rates`: since the sample before, if there is one.
[[nodiscard]] nlohmann::ordered_json to_json(const live_sample& sample,
                                             const std::optional<live_rates>& rates,
                                             const state_growth& growth);

/// Unix seconds.
[[nodiscard]] double unix_seconds(std::chrono::system_clock::time_point when);

struct history_options {
    std::chrono::milliseconds pause{1'000};       ///< from sample to sample, while somebody looks
    std::chrono::milliseconds idle_pause{10'000}; ///< and while nobody does
    std::chrono::milliseconds attention{5'000};   ///< after a call, somebody looks for so long
    std::size_t samples = 3'600;                  ///< that are kept
};

/// The samples of the last time, taken by a thread of its own, whatever becomes of the state: one
/// that cannot be read gives a sample that says why. Thread-safe.
///
/// Samples are numbered from 1. When other types turn up under the same path than were there, the
/// state is another one: the history begins anew, with another `begun`.
class sample_history {
public:
    /// Takes the first sample. Throws what that throws.
    explicit sample_history(const std::filesystem::path& state,
                            const history_options& options = {});
    ~sample_history();
    sample_history(const sample_history&) = delete;
    sample_history& operator=(const sample_history&) = delete;

    /// `{schema_version, begun, state, types[], samples[]}` with the samples after this number,
    /// those that are still kept; README.md lists their members. 0: all.
    [[nodiscard]] std::string after(std::uint64_t number);
    /// The same with `sample`, the last one, in place of `samples[]`. Waits for a new one if that
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
    // These require the mutex.
    void push(nlohmann::ordered_json sample);
    void begin_anew(const live_sample& sample);
    void note_attention();
    [[nodiscard]] std::string head() const;
    [[nodiscard]] clock::duration pause() const;

    const history_options options_;
    const live_sampler sampler_;
    std::mutex mutex_;                ///< for what follows
    std::optional<live_sample> last_; ///< that could be taken
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
