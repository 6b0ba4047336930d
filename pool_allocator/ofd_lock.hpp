#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>

/// Locks on bytes of a file that belong to an open file description: the kernel releases them when
/// their holder dies, they hold between two objects of one process, too, and others can ask for
/// them without taking them. The one place that uses F_OFD_SETLK.
namespace chainbase::ofd_lock {

enum class kind { none, shared, exclusive };

/// Which bytes; without a length all from `begin` on.
struct range {
    std::uint64_t begin = 0;
    std::uint64_t length = 0;
};

/// Takes a lock, or gives it up (kind::none), without waiting. Returns whether it did; else errno
/// says why, and is_taken() whether another description has one that is in the way.
[[nodiscard]] bool take(int descriptor, kind wanted, range which = {}) noexcept;
/// As take(), but waits until nobody is in the way.
[[nodiscard]] bool await(int descriptor, kind wanted, range which = {}) noexcept;
void release(int descriptor, range which = {}) noexcept;

/// Of errno after take().
[[nodiscard]] inline bool is_taken() noexcept {
    return errno == EAGAIN || errno == EACCES;
}

/// The lock of another description that is in the way of `wanted`; nothing when the kernel does not
/// say, with errno.
[[nodiscard]] std::optional<kind> in_the_way(int descriptor, kind wanted,
                                             range which = {}) noexcept;

} // namespace chainbase::ofd_lock
