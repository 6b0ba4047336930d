#include <chainbase/checkpoint/disk.hpp>
#include <pool_allocator/error.hpp>
#include <tools/block_log/file.hpp>
#include <tools/block_log/system_file.hpp>

#include <fcntl.h>

#include <utility>

namespace chainbase {

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
