#pragma once

#include <archive/rocksdb_store.hpp>

#include <cstdint>

namespace chainbase::archive::detail {

class rocksdb_database;

/// What rocksdb_store::facts() returns and throws.
[[nodiscard]] rocksdb_facts facts_of(const rocksdb_database& database);

/// How many table files there are now, of all families.
[[nodiscard]] std::uint64_t table_files(const rocksdb_database& database);

} // namespace chainbase::archive::detail
