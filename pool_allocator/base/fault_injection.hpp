#pragma once

namespace chainbase::fault {

/// Where a test may make the engine fail or die. A throwing hook is allowed where space is
/// acquired; at the others a hook may only end the process.
enum class point {
    slot,          ///< a slot is about to be taken from a pool
    chunk,         ///< the log is about to take another chunk
    growth,        ///< a file is about to grow
    log_append,    ///< a before-image was written, the log's tail not yet advanced
    rollback_copy, ///< a before-image is about to be copied back
    log_word,      ///< one of the log's own words was stored, the next one not yet
};

#ifdef CHAINBASE_FAULT_INJECTION
inline void (*hook)(point) = nullptr;
inline void reach(point at) {
    if (hook) hook(at);
}
#else
constexpr void reach(point) noexcept {}
#endif

} // namespace chainbase::fault
