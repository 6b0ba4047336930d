#pragma once

#include <rocksdb/listener.h>

namespace chainbase::archive::detail {

/// Says what fails in RocksDB's own threads, which no call returns. Only the merging of table files
/// goes on by itself once there is room: after other failures RocksDB would take writes again with
/// a log that it cannot write to, and so the store has to be opened again.
///
/// Thread-safe.
class background_errors final : public rocksdb::EventListener {
public:
    void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override;
    void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason reason, rocksdb::Status error,
                              bool* by_itself) override;
};

} // namespace chainbase::archive::detail
