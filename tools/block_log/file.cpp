#include <chainbase/checkpoint/disk.hpp>
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

/// A file of the operating system that a user named: links are followed, its mode is what the umask
/// leaves of 0644, and what is refused is said with file, operation, offset and reason.
///
/// Throws io_error, and out_of_space_error for a full disk, a quota or a limit of file sizes.
class system_file final : public disk_file {
public:
    /// `flags` as of open(2). Throws usage_error when a new file is to be made and there is one.
    system_file(std::filesystem::path path, int flags)
        : path_(std::move(path)), descriptor_(::open(path_.c_str(), flags | O_CLOEXEC, 0644)) {
        if (descriptor_ >= 0) return;
        if (errno == EEXIST)
            throw usage_error(path_.string() + ": exists already and is not overwritten; remove it "
                                               "or choose another name");
        throw io_error(path_.string() + ": open failed: " + reason(errno) +
                       "; check the path and its permissions");
    }
    system_file(const system_file&) = delete;
    system_file& operator=(const system_file&) = delete;
    ~system_file() override { ::close(descriptor_); }

    void write(std::uint64_t offset, std::span<const std::byte> data) override {
        while (!data.empty()) {
            const ssize_t put =
                ::pwrite(descriptor_, data.data(), data.size(), static_cast<off_t>(offset));
            if (put < 0 && errno == EINTR) continue;
            if (put < 0) fail_room(offset, data.size(), errno);
            data = data.subspan(static_cast<std::size_t>(put));
            offset += static_cast<std::uint64_t>(put);
        }
    }

    [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> into) const override {
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

    void sync() override {
        if (::fdatasync(descriptor_) != 0) fail("fdatasync", errno);
    }

    void reserve(std::uint64_t offset, std::uint64_t length) override {
        int code = 0;
        do
            code = ::posix_fallocate(descriptor_, static_cast<off_t>(offset),
                                     static_cast<off_t>(length));
        while (code == EINTR);
        if (code != 0) fail_room(offset, length, code);
    }

    void resize(std::uint64_t bytes) override {
        if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
            fail("cutting it to " + std::to_string(bytes) + " bytes", errno);
    }

    [[nodiscard]] std::uint64_t bytes() const override {
        return static_cast<std::uint64_t>(status().st_size);
    }
    [[nodiscard]] std::uint64_t inode() const { return status().st_ino; }

    void lock() {
        struct flock whole{};
        whole.l_type = F_WRLCK;
        whole.l_whence = SEEK_SET;
        if (::fcntl(descriptor_, F_OFD_SETLK, &whole) == 0) return;
        if (errno == EAGAIN || errno == EACCES)
            throw locked_error(path_.string() +
                               ": another writer has it open; close that one first");
        fail("lock", errno);
    }

    [[nodiscard]] bool is_at(const std::filesystem::path& path) const noexcept {
        struct stat own{};
        struct stat named{};
        return ::fstat(descriptor_, &own) == 0 && ::stat(path.c_str(), &named) == 0 &&
               own.st_dev == named.st_dev && own.st_ino == named.st_ino;
    }

private:
    [[nodiscard]] struct stat status() const {
        struct stat result{};
        if (::fstat(descriptor_, &result) != 0) fail("stat", errno);
        return result;
    }

    [[noreturn]] void fail(const std::string& operation, int code) const {
        throw io_error(path_.string() + ": " + operation + " failed: " + reason(code) +
                       "; look at the device and its file system (dmesg), then try again");
    }

    [[noreturn]] void fail_room(std::uint64_t offset, std::size_t asked, int code) const {
        if (code != ENOSPC && code != EDQUOT && code != EFBIG)
            fail("write at byte " + std::to_string(offset), code);
        throw out_of_space_error(path_.string() + ": no room for " + std::to_string(asked) +
                                 " bytes at byte " + std::to_string(offset) + " (" + reason(code) +
                                 "); free space and try again");
    }

    std::filesystem::path path_;
    int descriptor_;
};

file::file() = default;

file::file(std::filesystem::path path, int flags) : path_(std::move(path)) {
    auto opened = std::make_unique<system_file>(path_, flags);
    system_ = opened.get();
    io_ = std::move(opened);
}

file::file(std::filesystem::path path, disk* on, std::unique_ptr<disk_file> io) noexcept
    : path_(std::move(path)), on_(on), io_(std::move(io)) {}

file file::open_read(const std::filesystem::path& path, disk* on) {
    if (on) return {path, on, on->open(path, disk::mode::read)};
    return {path, O_RDONLY};
}
file file::open_write(const std::filesystem::path& path, disk* on) {
    if (on) return {path, on, on->open(path, disk::mode::write)};
    return {path, O_RDWR};
}
file file::create(const std::filesystem::path& path, disk* on) {
    if (on) return {path, on, on->open(path, disk::mode::create)};
    return {path, O_RDWR | O_CREAT | O_EXCL};
}

file::file(file&& other) noexcept
    : path_(std::move(other.path_)), on_(other.on_), io_(std::move(other.io_)),
      system_(std::exchange(other.system_, nullptr)) {}

file& file::operator=(file&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(on_, other.on_);
    std::swap(io_, other.io_);
    std::swap(system_, other.system_);
    return *this;
}

file::~file() = default;

void file::close() noexcept {
    system_ = nullptr;
    io_.reset();
}

bool file::is_at(const std::filesystem::path& path) const noexcept {
    return system_ ? system_->is_at(path) : path == path_;
}

std::uint64_t file::inode() const {
    return system_ ? system_->inode() : 0;
}

std::uint64_t file::size() const {
    return io_->bytes();
}

std::size_t file::read_at(std::uint64_t offset, std::span<std::byte> out) const {
    return io_->read(offset, out);
}

void file::write_at(std::uint64_t offset, byte_view data) {
    io_->write(offset, data);
}

void file::write_first(byte_view header) {
    try {
        write_at(0, header);
    } catch (...) {
        try {
            names_on(on_).remove(path_);
        } catch (const error&) { // what failed first is reported
        }
        throw;
    }
}

void file::truncate(std::uint64_t size) {
    io_->resize(size);
}

bool file::try_truncate(std::uint64_t size) noexcept {
    try {
        truncate(size);
        return true;
    } catch (const error&) {
        return false;
    }
}

void file::sync() const {
    io_->sync();
}

void file::sync_name() const {
    const std::filesystem::path folder = path_.parent_path();
    names_on(on_).sync_folder(folder.empty() ? "." : folder);
}

void file::lock() {
    if (system_) system_->lock();
}

disk& names_on(disk* on) noexcept {
    return on ? *on : disk::of_system();
}

} // namespace chainbase
