#pragma once

/// Where a test may make a process die while a backup is made or restored. The production library
/// has no trace of it.
namespace chainbase::archive::fault {

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

#ifdef CHAINBASE_FAULT_INJECTION
inline void (*backup_hook)(backup_step) = nullptr;
inline void reach(backup_step at) {
    if (backup_hook) backup_hook(at);
}
#else
constexpr void reach(backup_step) noexcept {}
#endif

} // namespace chainbase::archive::fault
