#pragma once

/// Where a test may make a process die while objects leave memory. The production library has no
/// trace of it.
namespace chainbase::archive::fault {

enum class step {
    before_write,   ///< the rows are encoded, the store knows nothing of them
    after_write,    ///< the store has them, memory too
    object_removed, ///< one object left memory, its queue entry is still there
    entry_removed,  ///< its queue entry left too
    finished        ///< all did
};

#ifdef CHAINBASE_FAULT_INJECTION
inline void (*hook)(step) = nullptr;
inline void reach(step at) {
    if (hook) hook(at);
}
#else
constexpr void reach(step) noexcept {}
#endif

} // namespace chainbase::archive::fault
