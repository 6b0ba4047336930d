#include <pool_allocator/error.hpp>
#include <tools/block_log/system_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace chainbase {
namespace {

std::string reason(int code) {
    return std::generic_category().message(code);
}

} // namespace

system_file::system_file(std::filesystem::path path, int flags)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), flags | O_CLOEXEC, 0644)) {
    if (descriptor_ >= 0) return;
    if (errno == EEXIST)
        throw usage_error(path_.string() + ": exists already and is not overwritten; remove it or "
                                           "choose another name");
    throw io_error(path_.string() + ": open failed: " + reason(errno) +
                   "; check the path and its permissions");
}

system_file::~system_file() {
    ::close(descriptor_);
}

void system_file::write(std::uint64_t offset, std::span<const std::byte> data) {
    while (!data.empty()) {
        const ssize_t put =
            ::pwrite(descriptor_, data.data(), data.size(), static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) fail_room(offset, data.size(), errno);
        data = data.subspan(static_cast<std::size_t>(put));
        offset += static_cast<std::uint64_t>(put);
    }
}

std::size_t system_file::read(std::uint64_t offset, std::span<std::byte> into) const {
    std::size_t done = 0;
    while (done < into.size()) {
        const ssize_t got = ::pread(descriptor_, into.data() + done, into.size() - done,
                                    static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail("read at byte " + std::to_string(offset + done), errno);
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

void system_file::sync() {
    if (::fdatasync(descriptor_) != 0) fail("fdatasync", errno);
}

void system_file::reserve(std::uint64_t offset, std::uint64_t length) {
    int code = 0;
    do
        code =
            ::posix_fallocate(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(length));
    while (code == EINTR);
    if (code != 0) fail_room(offset, length, code);
}

void system_file::resize(std::uint64_t bytes) {
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
        fail("cutting it to " + std::to_string(bytes) + " bytes", errno);
}

std::uint64_t system_file::bytes() const {
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) fail("stat", errno);
    return static_cast<std::uint64_t>(status.st_size);
}

std::uint64_t system_file::inode() const {
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) fail("stat", errno);
    return status.st_ino;
}

void system_file::lock() {
    struct flock whole{};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (::fcntl(descriptor_, F_OFD_SETLK, &whole) == 0) return;
    if (errno == EAGAIN || errno == EACCES)
        throw locked_error(path_.string() + ": another writer has it open; close that one first");
    fail("lock", errno);
}

bool system_file::is_at(const std::filesystem::path& path) const noexcept {
    struct stat own{};
    struct stat named{};
    return ::fstat(descriptor_, &own) == 0 && ::stat(path.c_str(), &named) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

void system_file::fail(const std::string& operation, int code) const {
    throw io_error(path_.string() + ": " + operation + " failed: " + reason(code) +
                   "; look at the device and its file system (dmesg), then try again");
}

void system_file::fail_room(std::uint64_t offset, std::size_t asked, int code) const {
    if (code != ENOSPC && code != EDQUOT && code != EFBIG)
        fail("write at byte " + std::to_string(offset), code);
    throw out_of_space_error(path_.string() + ": no room for " + std::to_string(asked) +
                             " bytes at byte " + std::to_string(offset) + " (" + reason(code) +
                             "); free space and try again");
}

} // namespace chainbase
