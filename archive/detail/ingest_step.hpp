#pragma once

/// Where a test may make a process die while a large batch goes into RocksDB as sorted files. The
/// production library has no trace of it.
namespace chainbase::archive::fault {

enum class ingest_step {
    file_begun,   ///< a sorted file has its name and perhaps some of its entries
    file_written, ///< a sorted file is complete
    flushed,      ///< all are, and what was buffered before is in table files
    ingested      ///< RocksDB has them; the names they were written under may be there still
};

#ifdef CHAINBASE_FAULT_INJECTION
inline void (*ingest_hook)(ingest_step) = nullptr;
inline void reach(ingest_step at) {
    if (ingest_hook) ingest_hook(at);
}
#else
constexpr void reach(ingest_step) noexcept {}
#endif

} // namespace chainbase::archive::fault
