#pragma once

#include <tools/sink/known_tables.hpp>
#include <tools/sink/table/ddl.hpp>

#include <map>
#include <string>
#include <vector>

namespace chainbase::sink {

/// What a connection string says, by the words of libpq: host, port, dbname, user, password. Throws
/// usage_error when it cannot be read.
[[nodiscard]] std::map<std::string, std::string> parts_of_dsn(const std::string& dsn);

/// The SQL that makes a PostgreSQL database the coordinator of shards: for each type a table that
/// is partitioned as the sink places its rows, with a foreign table for each shard, so that a query
/// asks those shards only that can have its rows, all of them at once; and the view
/// SCHEMA_sink.progress of how far the shards are. It replaces what it made before. Passwords of
/// the shards are in it, as user mappings have them.
[[nodiscard]] std::vector<std::string> coordinator_sql(const std::vector<std::string>& shards,
                                                       const known_tables& tables, const ddl& made);

} // namespace chainbase::sink
