#include <pool_allocator/error.hpp>
#include <tools/block_log/file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace chainbase {
namespace {

std::string reason(int code) {
    return std::generic_category().message(code);
}

} // namespace

file::file(std::filesystem::path path, int flags) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), flags | O_CLOEXEC, 0644);
    if (descriptor_ >= 0) return;
    if (errno == EEXIST)
        throw usage_error(path_.string() + ": exists already and is not overwritten; remove it or "
                                           "choose another name");
    throw io_error(path_.string() + ": open failed: " + reason(errno) +
                   "; check the path and its permissions");
}

file file::open_read(const std::filesystem::path& path) {
    return {path, O_RDONLY};
}
file file::open_write(const std::filesystem::path& path) {
    return {path, O_RDWR};
}
file file::create(const std::filesystem::path& path) {
    return {path, O_RDWR | O_CREAT | O_EXCL};
}

file::file(file&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

file& file::operator=(file&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

file::~file() {
    close();
}

void file::close() noexcept {
    if (is_open()) ::close(std::exchange(descriptor_, -1));
}

bool file::is_at(const std::filesystem::path& path) const noexcept {
    struct stat own{};
    struct stat named{};
    return ::fstat(descriptor_, &own) == 0 && ::stat(path.c_str(), &named) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

std::uint64_t file::size() const {
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) fail("stat", errno);
    return static_cast<std::uint64_t>(status.st_size);
}

std::size_t file::read_at(std::uint64_t offset, std::span<std::byte> out) const {
    std::size_t done = 0;
    while (done < out.size()) {
        const ssize_t got = ::pread(descriptor_, out.data() + done, out.size() - done,
                                    static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail("read at byte " + std::to_string(offset + done), errno);
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

void file::write_at(std::uint64_t offset, byte_view data) {
    std::size_t done = 0;
    while (done < data.size()) {
        const ssize_t put = ::pwrite(descriptor_, data.data() + done, data.size() - done,
                                     static_cast<off_t>(offset + done));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) fail_write(offset + done, data.size() - done, errno);
        done += static_cast<std::size_t>(put);
    }
}

void file::write_first(byte_view header) {
    try {
        write_at(0, header);
    } catch (...) {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
        throw;
    }
}

void file::truncate(std::uint64_t size) {
    if (!try_truncate(size)) fail("cutting it to " + std::to_string(size) + " bytes", errno);
}

bool file::try_truncate(std::uint64_t size) noexcept {
    return ::ftruncate(descriptor_, static_cast<off_t>(size)) == 0;
}

void file::sync() const {
    if (::fdatasync(descriptor_) != 0) fail("fdatasync", errno);
}

void file::lock() {
    struct flock whole{};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (::fcntl(descriptor_, F_OFD_SETLK, &whole) == 0) return;
    if (errno == EAGAIN || errno == EACCES)
        throw locked_error(path_.string() + ": another writer has it open; close that one first");
    fail("lock", errno);
}

void file::fail(const std::string& operation, int code) const {
    throw io_error(path_.string() + ": " + operation + " failed: " + reason(code) +
                   "; look at the device and its file system (dmesg), then try again");
}

void file::fail_write(std::uint64_t offset, std::size_t asked, int code) const {
    if (code != ENOSPC && code != EDQUOT && code != EFBIG)
        fail("write at byte " + std::to_string(offset), code);
    throw out_of_space_error(path_.string() + ": no room for " + std::to_string(asked) +
                             " bytes at byte " + std::to_string(offset) + " (" + reason(code) +
                             "); free space and try again");
}

} // namespace chainbase
