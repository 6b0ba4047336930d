#pragma once

#include <tools/inspect/memory/state_report.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
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

} // namespace chainbase::inspect
