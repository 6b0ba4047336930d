#pragma once

#include <pool_allocator/trace.hpp>
#include <tools/driver/archive_metrics.hpp>
#include <tools/driver/chain_state.hpp>

#include <chrono>
#include <map>
#include <string>

namespace chainbase::driver {

/// Shows in the trace where a state stands and what its memory holds, about once a second.
///
/// Used by the thread that applies blocks; costs a look at the clock in between, and nothing while
/// nobody traces.
class chain_gauges {
public:
    /// Sets the gauges if the last time is a second ago.
    void update(const chain_state& state);
    /// Sets them now: at the end, for who asks last.
    void show(const chain_state& state);

private:
    void set(const std::string& name, const std::string& type, double value);

    std::chrono::steady_clock::time_point next_{};
    archive_gauges archive_;
    std::map<std::pair<std::string, std::string>, trace::gauge> of_types_;
};

} // namespace chainbase::driver
