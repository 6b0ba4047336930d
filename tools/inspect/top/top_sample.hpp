#pragma once

#include <tools/inspect/memory/live_sample.hpp>
#include <tools/inspect/state/named_state.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// What `top` knows of one moment: what `serve` does, and the checkpoints.
struct top_sample {
    live_sample now;
    std::optional<live_rates> rates; ///< nothing of the first sample of a state
    state_growth growth;
    std::vector<checkpoint_info> checkpoints; ///< the newest first
    /// What the archive had counted at the sample before, if the same process still counts.
    std::optional<archive::statistics_summary> archive_before;
    double seconds = 0; ///< since the sample before; 0 of the first
};

/// Takes one sample of a state after the other. Not thread-safe; takes no lock.
class top_sampler {
public:
    explicit top_sampler(std::filesystem::path state) : sampler_(std::move(state)) {}

    /// Throws what live_sampler::take throws; another call may succeed after that, and begins anew
    /// if another state is there by then.
    [[nodiscard]] top_sample take();
    [[nodiscard]] const std::filesystem::path& state() const noexcept { return sampler_.state(); }

private:
    void compare(top_sample& to) const;

    live_sampler sampler_;
    growth_meter meter_;
    std::optional<live_sample> last_;
};

} // namespace chainbase::inspect
