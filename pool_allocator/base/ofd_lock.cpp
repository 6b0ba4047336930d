#include <pool_allocator/base/ofd_lock.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace chainbase::ofd_lock {

namespace {

struct flock as_flock(kind wanted, range which) noexcept {
    struct flock lock{};
    lock.l_type = wanted == kind::none ? F_UNLCK : wanted == kind::shared ? F_RDLCK : F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(which.begin);
    lock.l_len = static_cast<off_t>(which.length);
    return lock;
}

} // namespace

bool take(int descriptor, kind wanted, range which) noexcept {
    struct flock lock = as_flock(wanted, which);
    return ::fcntl(descriptor, F_OFD_SETLK, &lock) == 0;
}

bool await(int descriptor, kind wanted, range which) noexcept {
    struct flock lock = as_flock(wanted, which);
    int result = 0;
    do
        result = ::fcntl(descriptor, F_OFD_SETLKW, &lock);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

void release(int descriptor, range which) noexcept {
    (void)take(descriptor, kind::none, which); // closing the file releases it, too
}

std::optional<kind> conflicting_lock(int descriptor, kind wanted, range which) noexcept {
    struct flock lock = as_flock(wanted, which);
    if (::fcntl(descriptor, F_OFD_GETLK, &lock) != 0) return std::nullopt;
    return lock.l_type == F_UNLCK   ? kind::none
           : lock.l_type == F_RDLCK ? kind::shared
                                    : kind::exclusive;
}

} // namespace chainbase::ofd_lock
