#include <chainbase/checkpoint/disk.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <pool_allocator/base/resource_limits.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace chainbase {
namespace {

namespace fs = std::filesystem;

class system_disk final : public disk {
public:
    std::unique_ptr<disk_file> open(const fs::path& file, mode how) override {
        const file_use use = how == mode::read     ? file_use::read
                             : how == mode::create ? file_use::create
                                                   : file_use::write;
        return std::make_unique<system_file>(file, open_private(file, use));
    }
    bool exists(const fs::path& file) override { return fs::exists(fs::symlink_status(file)); }
    std::vector<std::string> names_in(const fs::path& folder) override {
        if (!fs::exists(folder)) return {};
        return chainbase::names_in(folder);
    }
    void rename(const fs::path& from, const fs::path& to) override {
        if (::rename(from.c_str(), to.c_str()) != 0) throw_file_error(from, "rename");
    }
    void remove(const fs::path& file) override {
        if (::unlink(file.c_str()) != 0 && errno != ENOENT) throw_file_error(file, "remove");
    }
    void make_folder(const fs::path& folder) override { private_folder::make_within(folder); }
    void sync_folder(const fs::path& folder) override { chainbase::sync_folder(folder); }
    void sync_file_system(const fs::path& folder) override {
        const file_descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (opened.number() < 0 || ::syncfs(opened.number()) != 0)
            throw_file_error(folder, "sync the file system of");
    }
};

} // namespace

system_file::system_file(fs::path name, file_descriptor descriptor)
    : name_(std::move(name)), descriptor_(std::move(descriptor)) {}

void system_file::write(std::uint64_t offset, std::span<const std::byte> data) {
    write_at(descriptor_, name_, offset, data);
}

std::size_t system_file::read(std::uint64_t offset, std::span<std::byte> into) const {
    return read_at(descriptor_, name_, offset, into);
}

void system_file::sync() {
    if (::fdatasync(descriptor_.number()) != 0) throw_file_error(name_, "sync");
}

void system_file::reserve(std::uint64_t offset, std::uint64_t length) {
    const std::string against =
        resource_limits::refusal(descriptor_.number(), offset + length, length);
    if (!against.empty())
        throw out_of_space_error("cannot reserve " + std::to_string(length) + " bytes for " +
                                 name_.string() + ": " + against);
    int reason = 0;
    do
        reason = ::posix_fallocate(descriptor_.number(), static_cast<off_t>(offset),
                                   static_cast<off_t>(length));
    while (reason == EINTR);
    if (reason == 0) return;
    errno = reason;
    throw_file_error(name_, "reserve " + std::to_string(length) + " bytes for");
}

void system_file::resize(std::uint64_t bytes) {
    if (::ftruncate(descriptor_.number(), static_cast<off_t>(bytes)) != 0)
        throw_file_error(name_, "resize (to " + std::to_string(bytes) + " bytes)");
}

std::uint64_t system_file::bytes() const {
    struct stat status{};
    if (::fstat(descriptor_.number(), &status) != 0) throw_file_error(name_, "examine");
    return static_cast<std::uint64_t>(status.st_size);
}

disk& disk::of_system() noexcept {
    static system_disk only;
    return only;
}

} // namespace chainbase
