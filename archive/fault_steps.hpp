#pragma once

/// Where a test may make a process die. The production library has no trace of it.
namespace chainbase::archive::fault {

/// While objects leave memory.
enum class step {
    before_write,   ///< the rows are encoded, the store knows nothing of them
    after_write,    ///< the store has them, memory too
    object_removed, ///< one object left memory, its queue entry is still there
    entry_removed,  ///< its queue entry left too
    finished        ///< all did
};

/// While a large batch goes into RocksDB as sorted files.
enum class ingest_step {
    file_begun,   ///< a sorted file has its name and perhaps some of its entries
    file_written, ///< a sorted file is complete
    flushed,      ///< all are, and what was buffered before is in table files
    ingested      ///< RocksDB has them; the names they were written under may be there still
};

/// While a backup is made or restored.
enum class backup_step {
    folder_made,      ///< an empty folder under the other name
    folder_marked,    ///< it says what it is
    folder_emptied,   ///< an earlier call had died, and its files are gone
    file_copied,      ///< one file is
    state_copied,     ///< the archive is not
    archive_copied,   ///< file by file
    archive_settled,  ///< it was opened, looked through and closed
    files_synced,     ///< all is on storage but what says that it is whole
    manifest_written, ///< it is whole and has the other name
    in_place          ///< it has its own name
};

/// While an archive is converted.
enum class conversion_step {
    batch_copied, ///< some rows are in both kinds
    all_copied,   ///< all are
    verified,     ///< and are the same
    durable,      ///< and are on storage, in the new kind
    moved,        ///< RocksDB's files have their place
    flipped,      ///< the archive is of the new kind
    part_removed, ///< some of the rows of the old kind are gone
    finished      ///< all are
};

#ifdef CHAINBASE_FAULT_INJECTION
inline void (*hook)(step) = nullptr;
inline void (*ingest_hook)(ingest_step) = nullptr;
inline void (*backup_hook)(backup_step) = nullptr;
inline void (*conversion_hook)(conversion_step) = nullptr;
inline void reach(step at) {
    if (hook) hook(at);
}
inline void reach(ingest_step at) {
    if (ingest_hook) ingest_hook(at);
}
inline void reach(backup_step at) {
    if (backup_hook) backup_hook(at);
}
inline void reach(conversion_step at) {
    if (conversion_hook) conversion_hook(at);
}
#else
constexpr void reach(step) noexcept {}
constexpr void reach(ingest_step) noexcept {}
constexpr void reach(backup_step) noexcept {}
constexpr void reach(conversion_step) noexcept {}
#endif

} // namespace chainbase::archive::fault
