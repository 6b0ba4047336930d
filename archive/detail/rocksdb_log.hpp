#pragma once

#include <rocksdb/env.h>

#include <cstdarg>

namespace chainbase::archive::detail {

/// What RocksDB notes about its work goes to our log, at the level debug, in place of its file LOG.
/// That one is on the archive's disk, and RocksDB 7.8 ends the process when it cannot be written.
///
/// Thread-safe.
class rocksdb_log final : public rocksdb::Logger {
public:
    rocksdb_log() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

    void Logv(rocksdb::InfoLogLevel level, const char* format, va_list values) override;
};

} // namespace chainbase::archive::detail
