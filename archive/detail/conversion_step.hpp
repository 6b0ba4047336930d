#pragma once

/// Where a test may make a process die while an archive is converted. The production library has
/// no trace of it.
namespace chainbase::archive::fault {

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
inline void (*conversion_hook)(conversion_step) = nullptr;
inline void reach(conversion_step at) {
    if (conversion_hook) conversion_hook(at);
}
#else
constexpr void reach(conversion_step) noexcept {}
#endif

} // namespace chainbase::archive::fault
