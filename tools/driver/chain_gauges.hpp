#pragma once

#include <archive/rocksdb_store.hpp>
#include <archive/statistics.hpp>
#include <pool_allocator/trace.hpp>
#include <tools/driver/chain_state.hpp>

#include <chrono>
#include <map>
#include <string>

namespace chainbase::driver {

/// How long lookups took that a store's statistics counted, for /metrics:
///
///     chainbase_archive_lookup_seconds{outcome=}    histogram; "hit_in_memory" (of which 1 in 64
///                                                   is measured), "hit_in_archive", "miss"
///                                                   and "known_miss" (the same)
[[nodiscard]] std::string archive_metrics_text(const archive::statistics& figures);

/// Shows in the trace what a store has done and holds: counters of what grows, gauges of the rest
/// (watching.md). For one thread, and one store.
class archive_gauges {
public:
    /// Adds what was done since the last call, or since the store was opened.
    void show(const archive::store& rows);

private:
    archive::statistics_summary shown_;
    archive::rocksdb_statistics engine_shown_;
};

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
