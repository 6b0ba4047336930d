#include <archive/detail/background_errors.hpp>

#include <spdlog/spdlog.h>

namespace chainbase::archive::detail {

void background_errors::OnBackgroundError(rocksdb::BackgroundErrorReason reason,
                                          rocksdb::Status* error) {
    using enum rocksdb::BackgroundErrorReason;
    if (reason == kWriteCallback || reason == kMemTable) return; // whose writer is told
    const bool is_merging = reason == kCompaction;
    spdlog::error("archive: RocksDB: {}: {}; nothing that was written is lost, {}",
                  is_merging ? "merging table files" : "writing a table file", error->ToString(),
                  is_merging ? "and it tries again" : "but no more is taken");
}

void background_errors::OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason reason, rocksdb::Status,
                                             bool* by_itself) {
    *by_itself = reason == rocksdb::BackgroundErrorReason::kCompaction;
}

} // namespace chainbase::archive::detail
