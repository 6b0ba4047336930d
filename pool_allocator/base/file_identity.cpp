#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/file_identity.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

namespace chainbase {

file_identity file_identity::of(const file_descriptor& file, const std::filesystem::path& name) {
    struct statx found{};
    struct statfs system{};
    const bool is_known =
        statx(file.number(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &found) == 0 &&
        fstatfs(file.number(), &system) == 0;
    if (!is_known) throw_file_error(name, "examine");
    constexpr std::int64_t second = 1'000'000'000;
    file_identity identity;
    identity.inode = found.stx_ino;
    if (system.f_type != OVERLAYFS_SUPER_MAGIC)
        identity.device = gnu_dev_makedev(found.stx_dev_major, found.stx_dev_minor);
    if ((found.stx_mask & STATX_BTIME) != 0)
        identity.born = found.stx_btime.tv_sec * second + found.stx_btime.tv_nsec;
    return identity;
}

} // namespace chainbase
