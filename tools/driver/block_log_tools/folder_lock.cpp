#include <pool_allocator/error.hpp>
#include <tools/driver/block_log_tools/folder_lock.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace chainbase::driver {

namespace {

io_error refused(const std::filesystem::path& folder, const char* operation, int code) {
    return io_error(folder.string() + ": " + operation +
                    " failed: " + std::generic_category().message(code) +
                    "; check the path and its permissions, then call again");
}

} // namespace

folder_lock::folder_lock(const std::filesystem::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw refused(folder, "open", errno);
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
    const int code = errno;
    ::close(descriptor_);
    if (code != EWOULDBLOCK) throw refused(folder, "lock", code);
    throw locked_error(folder.string() + ": another call is making it; wait for that one, or "
                                         "choose another name");
}

folder_lock::~folder_lock() {
    ::close(descriptor_);
}

bool folder_lock::is_of(const std::filesystem::path& path) const {
    struct stat own{};
    struct stat named{};
    return ::fstat(descriptor_, &own) == 0 && ::stat(path.c_str(), &named) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

} // namespace chainbase::driver
