#pragma once

#include <archive/statistics.hpp>
#include <chainbase/locks/process_lock.hpp>
#include <tools/inspect/memory/state_report.hpp>
#include <tools/process_disk.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::inspect {

/// Growth of a state per minute; negative if it shrinks.
struct state_growth {
    struct part {
        std::string name;
        double objects = 0;
        double used_bytes = 0; ///< header, links and values
        double file_bytes = 0;
    };

    double seconds = 0; ///< duration of the measurement
    part whole;
    std::vector<part> types;
};

/// Measures the growth of a repeatedly sampled state over the last minute: files grow in steps, so
/// two neighbouring samples show little.
class growth_meter {
public:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds span{60};

    /// Adds a report later than those before. Without an earlier one all figures are zero. A type
    /// is measured from the first report that has it.
    state_growth add(const state_report& found, clock::time_point when);

private:
    struct figures {
        std::uint64_t objects = 0;
        std::uint64_t used_bytes = 0;
        std::uint64_t file_bytes = 0;

        [[nodiscard]] static figures of(const measured& memory, std::uint64_t objects) noexcept;
    };
    struct moment {
        clock::time_point when;
        figures whole;
        std::map<std::string, figures> types;
    };

    [[nodiscard]] static moment moment_of(const state_report& found, clock::time_point when);
    [[nodiscard]] static state_growth::part per_minute(const std::string& name, const figures& from,
                                                       const figures& to, double minutes);

    /// begins with the youngest one that is at least a span old, if any
    std::deque<moment> moments_;
};

/// One sample of the monitoring verbs (`top`, `serve`, `stat --watch`).
struct live_sample {
    std::chrono::system_clock::time_point time;
    std::chrono::steady_clock::time_point taken; ///< base of the rates
    state_report state;
    lock_report locks;
    /// Of the store `rocksdb`; nothing without one, or if it was never opened for writing.
    std::optional<archive::published_statistics> archive;
    std::optional<process_disk> disk; ///< of the writer, if it is known to be that process
};

/// The names of a state's types, in order.
[[nodiscard]] std::vector<std::string> names_of_types(const state_report& state);

/// Whether these can be the types of one state at two times: types are only ever appended. If not,
/// another state replaced it.
[[nodiscard]] bool continues(const std::vector<std::string>& before,
                             const std::vector<std::string>& now);

/// Whether both samples' archive figures were counted by the same opening, so that their difference
/// is valid.
[[nodiscard]] bool is_one_count(const live_sample& earlier, const live_sample& later);

/// Changes from one sample to the next, per second; zero for restarted counters, and when no time
/// passed.
struct live_rates {
    double changes = 0;       ///< of the log: operations, and sessions begun and ended
    double revisions = 0;     ///< blocks of a node; zero when more were undone than made
    double objects = 0;       ///< created, without those of undone blocks
    double growth = 0;        ///< bytes of the segment's files; may be negative
    double archive_finds = 0; ///< lookups in the archive
    double archive_rows = 0;  ///< rows written to it
    /// Of the writer: bytes that it had read from disks, bytes that it made to be written there,
    /// and accesses to pages that were not in memory. Nothing without a writer, or if this user may
    /// not know.
    std::optional<double> disk_read_per_second;
    std::optional<double> disk_written_per_second;
    std::optional<double> major_faults_per_second;

    [[nodiscard]] static live_rates between(const live_sample& earlier, const live_sample& later);
};

/// Samples one state repeatedly in one thread. Takes no lock and changes nothing. Opens the state
/// anew for each sample, so a writer may come, die, and be replaced meanwhile, and the segment may
/// be restored in another folder.
class live_sampler {
public:
    /// How long a sample waits for a moment between two operations. Beside a writer that never
    /// pauses the sample falls within an operation, after at most twice this time.
    static constexpr std::chrono::milliseconds patience{20};

    /// Does not read the state yet.
    explicit live_sampler(std::filesystem::path state) : state_(std::move(state)) {}
    /// Throws as read_state; a later call may succeed.
    [[nodiscard]] live_sample take();

    [[nodiscard]] const std::filesystem::path& state() const noexcept { return state_; }

private:
    std::filesystem::path state_;
    cached_files cached_;
};

} // namespace chainbase::inspect
