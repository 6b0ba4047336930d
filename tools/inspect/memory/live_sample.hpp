#pragma once

#include <archive/statistics.hpp>
#include <chainbase/lock/process_lock.hpp>
#include <tools/inspect/memory/state_report.hpp>

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

/// What a state gains in a minute; less than zero where it shrinks.
struct state_growth {
    struct part {
        std::string name;
        double objects = 0;
        double used_bytes = 0; ///< header, links and values
        double file_bytes = 0;
    };

    double seconds = 0; ///< over which it was measured
    part whole;
    std::vector<part> types;
};

/// Measures the growth of a state that is looked at again and again, over the last minute: files
/// grow in steps, so that two neighbouring samples say little.
class growth_meter {
public:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds span{60};

    /// Takes in what was found at a moment later than those before. Without an earlier one all is
    /// zero; so is a type that did not exist then.
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

    std::deque<moment> moments_; ///< the first is the youngest of those a span old, if there is one
};

/// What the verbs that go on looking (`top`, `serve`, `stat --watch`) know of one moment.
struct live_sample {
    std::chrono::system_clock::time_point time;
    std::chrono::steady_clock::time_point taken; ///< what rates are computed with
    state_report state;
    lock_report locks;
    /// Of the store `rocksdb`; nothing: there is none, or it was never opened for writing.
    std::optional<archive::published_statistics> archive;
};

/// The names of a state's types, in their order.
[[nodiscard]] std::vector<std::string> names_of_types(const state_report& state);

/// Whether these may be the types of one state, earlier and later: types are only ever added, at
/// the end. If not, another state came in its place.
[[nodiscard]] bool continues(const std::vector<std::string>& before,
                             const std::vector<std::string>& now);

/// Whether the archive's figures of both were counted by one opening of it, so that their
/// difference says something.
[[nodiscard]] bool is_one_count(const live_sample& earlier, const live_sample& later);

/// What changed from one sample to a later one, per second; zero of counters that began anew, and
/// when no time passed.
struct live_rates {
    double operations = 0;    ///< changes of the log: operations, and sessions begun and ended
    double revisions = 0;     ///< blocks, in a node; zero when more were undone than made
    double objects = 0;       ///< made; those of blocks that were undone do not count
    double growth = 0;        ///< bytes of the segment's files; may be negative
    double archive_finds = 0; ///< lookups that the archive was asked for
    double archive_rows = 0;  ///< rows written there

    [[nodiscard]] static live_rates between(const live_sample& earlier, const live_sample& later);
};

/// Takes samples of one state, again and again, in one thread. Takes no lock and changes nothing.
/// Each sample opens the state anew, so a writer may come, die, and be replaced meanwhile, and the
/// segment be restored in another folder.
class live_sampler {
public:
    /// How long a sample waits for a moment between two operations. Beside a writer that never
    /// pauses it is of the middle of one, after at most twice this time.
    static constexpr std::chrono::milliseconds patience{20};

    /// Looks at nothing yet.
    explicit live_sampler(std::filesystem::path state) : state_(std::move(state)) {}
    /// Throws what read_state throws; another call may succeed after that.
    [[nodiscard]] live_sample take() const;

    [[nodiscard]] const std::filesystem::path& state() const noexcept { return state_; }

private:
    std::filesystem::path state_;
};

} // namespace chainbase::inspect
