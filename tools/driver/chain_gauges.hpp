#pragma once

#include <archive/rocksdb/store.hpp>
#include <archive/statistics.hpp>
#include <pool_allocator/trace/trace.hpp>
#include <tools/driver/chain_state.hpp>

#include <chrono>
#include <map>
#include <string>

namespace chainbase::driver {

/// Lookup times from a store's statistics, for /metrics:
///
///     chainbase_archive_lookup_seconds{outcome=}    histogram; "hit_in_memory" (of which 1 in 64
///                                                   is measured), "hit_in_archive", "miss"
///                                                   and "known_miss" (the same)
[[nodiscard]] std::string archive_metrics_text(const archive::statistics& figures);

/// Exports a store's statistics to the trace: counters of cumulative figures, gauges of the rest
/// (watching.md). For one thread and one store.
class archive_gauges {
public:
    /// Adds the difference since the last call, or since the store was opened.
    void show(const archive::store& rows);

private:
    archive::statistics_summary shown_;
    archive::rocksdb_statistics engine_shown_;
};

/// Exports a state's head and memory figures to the trace about once a second.
///
/// Used by the applying thread; otherwise costs a clock read, and nothing while tracing is off.
class chain_gauges {
public:
    /// Sets the gauges if a second has passed.
    void update(const chain_state& state);
    /// Sets them now, for a last read at the end.
    void show(const chain_state& state);

private:
    void set(const std::string& name, const std::string& type, double value);

    std::chrono::steady_clock::time_point next_{};
    archive_gauges archive_;
    std::map<std::pair<std::string, std::string>, trace::gauge> of_types_;
};

} // namespace chainbase::driver
