#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>

/// Locks on byte ranges of a file, owned by an open file description: the kernel releases them when
/// their holder dies, they also exclude two objects of one process, and others can query them
/// without taking them. The one place that uses F_OFD_SETLK.
namespace chainbase::ofd_lock {

enum class kind { none, shared, exclusive };

/// A byte range; length 0 means all bytes from `begin` on.
struct range {
    std::uint64_t begin = 0;
    std::uint64_t length = 0;
};

/// Takes a lock, or releases it (kind::none), without waiting. Returns whether it succeeded; else
/// errno is set, and is_taken() tells whether another description holds a conflicting lock.
[[nodiscard]] bool take(int descriptor, kind wanted, range which = {}) noexcept;
/// As take(), but waits until no conflicting lock is held.
[[nodiscard]] bool await(int descriptor, kind wanted, range which = {}) noexcept;
void release(int descriptor, range which = {}) noexcept;

/// Reads errno after take().
[[nodiscard]] inline bool is_taken() noexcept {
    return errno == EAGAIN || errno == EACCES;
}

/// The lock of another description that conflicts with `wanted` (kind::none if there is none);
/// nothing, with errno set, when the kernel cannot tell.
[[nodiscard]] std::optional<kind> conflicting_lock(int descriptor, kind wanted,
                                                   range which = {}) noexcept;

} // namespace chainbase::ofd_lock
