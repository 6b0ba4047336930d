#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/ofd_lock.hpp>
#include <pool_allocator/base/private_folder.hpp>
#include <pool_allocator/base/resource_limits.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>

namespace chainbase {

namespace {

void write_new(const file_descriptor& to, const std::filesystem::path& file,
               std::string_view content) {
    write_at(to, file, 0, std::as_bytes(std::span(content)));
    if (::fsync(to.number()) != 0) throw_file_error(file, "sync");
}

} // namespace

std::filesystem::path without_slash(std::filesystem::path path) {
    if (path.empty()) return ".";
    return path.has_filename() || !path.has_relative_path() ? path : path.parent_path();
}

void require_file_limit(const std::filesystem::path& file, std::uint64_t bytes) {
    if (resource_limits::allows_file_of(bytes)) return;
    errno = EFBIG;
    throw_file_error(file, "write to byte " + std::to_string(bytes) + " of");
}

std::size_t read_at(const file_descriptor& file, const std::filesystem::path& name,
                    std::uint64_t offset, std::span<std::byte> into) {
    std::size_t done = 0;
    while (done < into.size()) {
        const ssize_t count = ::pread(file.number(), into.data() + done, into.size() - done,
                                      static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) // a sector that cannot be read
            throw_file_error(name, "read at byte " + std::to_string(offset + done) + " of");
        if (count == 0) break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

void write_at(const file_descriptor& file, const std::filesystem::path& name, std::uint64_t offset,
              std::span<const std::byte> data) {
    const auto refuse = [&] {
        throw_file_error(name, "write " + std::to_string(data.size()) + " bytes at byte " +
                                   std::to_string(offset) + " of");
    };
    if (!resource_limits::allows_file_of(offset + data.size())) {
        errno = EFBIG;
        refuse();
    }
    while (!data.empty()) {
        const ssize_t count =
            ::pwrite(file.number(), data.data(), data.size(), static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) refuse();
        data = data.subspan(static_cast<std::size_t>(count));
        offset += static_cast<std::uint64_t>(count);
    }
}

bool is_at(const file_descriptor& file, const std::filesystem::path& name) noexcept {
    struct stat own{};
    struct stat named{};
    return ::fstat(file.number(), &own) == 0 && ::stat(name.c_str(), &named) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

std::string read_file(const std::filesystem::path& file) {
    const file_descriptor from = open_private(file, file_use::read);
    std::string content;
    std::array<char, 4096> part;
    for (std::size_t count = part.size(); count == part.size();) {
        count = read_at(from, file, content.size(), std::as_writable_bytes(std::span(part)));
        content.append(part.data(), count);
    }
    return content;
}

void replace_file(const std::filesystem::path& file, std::string_view content) {
    const std::filesystem::path fresh = file.string() + ".new";
    const std::filesystem::path folder = file.parent_path(); // from here on no memory is needed
    write_new(open_private(fresh, file_use::replace), fresh, content);
    if (::rename(fresh.c_str(), file.c_str()) != 0) throw_file_error(file, "replace");
    sync_folder(folder);
}

usage_error exists_already(const std::filesystem::path& path) {
    return usage_error(path.string() +
                       ": exists already and is not overwritten; choose another name, or move it "
                       "away");
}

bool rename_new(const std::filesystem::path& made, const std::filesystem::path& target) {
    if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0)
        return true;
    if (errno == EEXIST) return false;
    if (errno != EINVAL && errno != ENOSYS) throw_file_error(target, "rename to");
    // The file system has no RENAME_NOREPLACE: this check has to do.
    if (std::filesystem::exists(std::filesystem::symlink_status(target))) return false;
    if (::rename(made.c_str(), target.c_str()) != 0) throw_file_error(target, "rename to");
    return true;
}

bool exchange_names(const std::filesystem::path& a, const std::filesystem::path& b) {
    if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) throw_file_error(a, "exchange");
    return false;
}

void overwrite_file(const std::filesystem::path& file, std::string_view content) {
    const file_descriptor to = open_private(file, file_use::write);
    if (::ftruncate(to.number(), 0) != 0) throw_file_error(file, "shorten");
    write_new(to, file, content);
}

void make_folders(const std::filesystem::path& folder) {
    if (std::filesystem::exists(folder)) return;
    make_folders(folder.parent_path());
    std::filesystem::create_directory(folder);
    sync_folder(folder.parent_path());
}

void sync_folder(const std::filesystem::path& folder) {
    const char* const name = folder.empty() ? "." : folder.c_str();
    const file_descriptor at(::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (at.number() < 0) throw_file_error(folder, "open");
    if (::fsync(at.number()) != 0) throw_file_error(folder, "sync");
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
    if (!open) throw_file_error(folder, "list");
    std::vector<std::string> names;
    for (;;) {
        errno = 0;
        const dirent* const one = ::readdir(open.get());
        if (one == nullptr && errno != 0) throw_file_error(folder, "list");
        if (one == nullptr) return names;
        const std::string_view name(one->d_name);
        if (name != "." && name != "..") names.emplace_back(name);
    }
}

void remove_tree(const std::filesystem::path& name) {
    struct stat found{};
    if (::lstat(name.c_str(), &found) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return;
        throw_file_error(name, "examine");
    }
    const bool is_folder = S_ISDIR(found.st_mode);
    if (is_folder)
        for (const std::string& one : names_in(name))
            remove_tree(name / one);
    if ((is_folder ? ::rmdir(name.c_str()) : ::unlink(name.c_str())) != 0 && errno != ENOENT)
        throw_file_error(name, "remove");
}

void try_to_remove_tree(const std::filesystem::path& name) noexcept {
    try {
        remove_tree(name);
    } catch (const std::exception&) { // the file stays
    }
}

file_lock::file_lock(const std::filesystem::path& file, bool create)
    : descriptor_(open_private(file, create ? file_use::obtain : file_use::write)) {
    using ofd_lock::kind;
    if (ofd_lock::take(descriptor_.number(), kind::exclusive)) return;
    if (!ofd_lock::is_taken()) throw_file_error(file, "lock");
    char text[24] = {};
    const ssize_t length = ::pread(descriptor_.number(), text, sizeof text - 1, 0);
    if (ofd_lock::conflicting_lock(descriptor_.number(), kind::exclusive) == kind::shared)
        throw locked_error(file.string() + ": this state is being checked; wait until that is "
                                           "done, or stop it, and try again");
    throw locked_error(file.string() + ": a writer has this state open (process " +
                       std::string(text, length > 1 ? static_cast<std::size_t>(length - 1) : 0) +
                       "); stop it first, or open the state read-only");
}

/// Closing alone would leave the lock with a fork that has the file open, too.
file_lock::~file_lock() {
    if (origin_.is_here()) ofd_lock::release(descriptor_.number());
}

void file_lock::announce() noexcept {
    const std::string holder = std::to_string(getpid()) + "\n";
    if (!resource_limits::allows_file_of(holder.size())) return;
    if (::pwrite(descriptor_.number(), holder.data(), holder.size(), 0) < 0 ||
        ::ftruncate(descriptor_.number(), static_cast<off_t>(holder.size())) != 0)
        errno = 0; // it would only make the message less helpful
}

bool file_lock::is_held(const std::filesystem::path& file) {
    return is_held(file_descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC)));
}

bool file_lock::is_held(const file_descriptor& file) noexcept {
    using ofd_lock::kind;
    if (file.number() < 0) return false;
    // A shared lock conflicts with the writer's.
    return ofd_lock::conflicting_lock(file.number(), kind::shared).value_or(kind::none) !=
           kind::none;
}

} // namespace chainbase
