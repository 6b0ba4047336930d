#include <chainbase/checkpoint/disk.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/ofd_lock.hpp>
#include <tools/block_log/file.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace chainbase {

namespace {

/// Opens a file named by the user: follows links; a new file has mode 0644 less the umask.
file_descriptor open_named(const std::filesystem::path& path, int flags) {
    file_descriptor opened(::open(path.c_str(), flags | O_CLOEXEC, 0644));
    if (opened.number() >= 0) return opened;
    if (errno == EEXIST) throw exists_already(path);
    throw_file_error(path, "open");
}

} // namespace

file::file() = default;

file::file(std::filesystem::path path, int flags) : path_(std::move(path)) {
    auto opened = std::make_unique<system_file>(path_, open_named(path_, flags));
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
    return system_ ? chainbase::is_at(system_->descriptor(), path) : path == path_;
}

std::uint64_t file::inode() const {
    if (!system_) return 0;
    struct stat status{};
    if (::fstat(system_->descriptor().number(), &status) != 0) throw_file_error(path_, "examine");
    return status.st_ino;
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
        } catch (const error&) { // the first failure is reported
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
    names_on(on_).sync_folder(path_.parent_path());
}

void file::lock() {
    if (!system_ || ofd_lock::take(system_->descriptor().number(), ofd_lock::kind::exclusive))
        return;
    if (!ofd_lock::is_taken()) throw_file_error(path_, "lock");
    throw locked_error(path_.string() + ": another writer has it open; close that one first");
}

bool file::is_locked_by_another() const noexcept {
    using ofd_lock::kind;
    if (!system_) return false;
    return ofd_lock::conflicting_lock(system_->descriptor().number(), kind::shared) ==
           kind::exclusive;
}

disk& names_on(disk* on) noexcept {
    return on ? *on : disk::of_system();
}

} // namespace chainbase
