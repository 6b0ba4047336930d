#pragma once

#include <archive/rocksdb/store.hpp>
#include <archive/statistics.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace chainbase {

/// A store's statistics as JSON, the same in every program's report: driver/README.md lists the
/// members.
[[nodiscard]] nlohmann::ordered_json to_json(const archive::statistics_summary& figures);
/// What RocksDB has done and holds.
[[nodiscard]] nlohmann::ordered_json to_json(const archive::rocksdb_statistics& engine);

/// The same as text, lines of a name and a figure.
[[nodiscard]] std::string to_text(const archive::statistics_summary& figures);
[[nodiscard]] std::string to_text(const archive::rocksdb_statistics& engine);

} // namespace chainbase
