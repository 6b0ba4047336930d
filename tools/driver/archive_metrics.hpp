#pragma once

#include <archive/rocksdb_store.hpp>
#include <archive/statistics.hpp>

#include <string>

namespace chainbase::driver {

/// How long lookups took that a store's statistics counted, for /metrics:
///
///     chainbase_archive_lookup_seconds{outcome=}    histogram; "hit_in_memory" (of which 1 in 64
///                                                   is measured), "hit_in_archive", "miss"
///                                                   and "known_miss" (the same)
[[nodiscard]] std::string archive_metrics_text(const archive::statistics& figures);

/// Shows in the trace what a store has done and holds: counters of what grows, gauges of the rest
/// (README.md). For one thread, and one store.
class archive_gauges {
public:
    /// Adds what was done since the last call, or since the store was opened.
    void show(const archive::store& rows);

private:
    archive::statistics_summary shown_;
    archive::rocksdb_statistics engine_shown_;
};

} // namespace chainbase::driver
