#include <chainbase/files.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/ofd_lock.hpp>
#include <pool_allocator/private_folder.hpp>
#include <pool_allocator/resource_limits.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>

namespace chainbase {

namespace {

void write_all(int to, std::string_view content, const std::filesystem::path& file) {
    require_file_limit(file, content.size());
    while (!content.empty()) {
        const ssize_t written = ::write(to, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw_file_error(file, "write");
        content.remove_prefix(static_cast<std::size_t>(written));
    }
}

} // namespace

void require_file_limit(const std::filesystem::path& file, std::uint64_t bytes) {
    if (resource_limits::allows_file_of(bytes)) return;
    errno = EFBIG;
    throw_file_error(file, "write to byte " + std::to_string(bytes) + " of");
}

std::string read_file(const std::filesystem::path& file) {
    const file_descriptor from = open_private(file, file_use::read);
    std::string content;
    std::array<char, 4096> part;
    for (;;) {
        const ssize_t count = ::read(from.number(), part.data(), part.size());
        if (count == 0) return content;
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw_file_error(file, "read"); // a sector that cannot be read
        content.append(part.data(), static_cast<std::size_t>(count));
    }
}

void replace_file(const std::filesystem::path& file, std::string_view content) {
    const std::filesystem::path fresh = file.string() + ".new";
    {
        const file_descriptor to = open_private(fresh, file_use::replace);
        write_all(to.number(), content, fresh);
        if (::fsync(to.number()) != 0) throw_file_error(fresh, "sync");
    }
    if (::rename(fresh.c_str(), file.c_str()) != 0) throw_file_error(file, "replace");
    sync_folder(file.parent_path());
}

bool rename_new(const std::filesystem::path& made, const std::filesystem::path& target) {
    const auto is_there = [&] {
        return std::filesystem::exists(std::filesystem::symlink_status(target));
    };
    if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) != 0) {
        if (errno == EEXIST) return false;
        if (errno != EINVAL && errno != ENOSYS) throw_file_error(target, "rename to");
        // A file system that cannot tell: this look is all there is.
        if (is_there()) return false;
        if (::rename(made.c_str(), target.c_str()) != 0) throw_file_error(target, "rename to");
    }
    sync_folder(target.has_parent_path() ? target.parent_path() : ".");
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
    write_all(to.number(), content, file);
    if (::fsync(to.number()) != 0) throw_file_error(file, "sync");
}

void make_folders(const std::filesystem::path& folder) {
    if (std::filesystem::exists(folder)) return;
    make_folders(folder.parent_path());
    std::filesystem::create_directory(folder);
    sync_folder(folder.parent_path());
}

void sync_folder(const std::filesystem::path& folder) {
    const file_descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (at.number() < 0) throw_file_error(folder, "open");
    if (::fsync(at.number()) != 0) throw_file_error(folder, "sync");
}

file_lock::file_lock(const std::filesystem::path& file, bool create)
    : descriptor_(open_private(file, create ? file_use::obtain : file_use::write)) {
    using ofd_lock::kind;
    if (ofd_lock::take(descriptor_.number(), kind::exclusive)) return;
    if (!ofd_lock::is_taken()) throw_file_error(file, "lock");
    char text[24] = {};
    const ssize_t length = ::pread(descriptor_.number(), text, sizeof text - 1, 0);
    if (ofd_lock::in_the_way(descriptor_.number(), kind::exclusive) == kind::shared)
        throw locked_error(file.string() + ": this state is being checked; wait until that is "
                                           "done, or stop it, and try again");
    throw locked_error(file.string() + ": a writer has this state open (process " +
                       std::string(text, length > 1 ? static_cast<std::size_t>(length - 1) : 0) +
                       "); stop it first, or open the state read-only");
}

void file_lock::announce() noexcept {
    const std::string holder = std::to_string(getpid()) + "\n";
    if (!resource_limits::allows_file_of(holder.size())) return;
    if (::pwrite(descriptor_.number(), holder.data(), holder.size(), 0) < 0 ||
        ::ftruncate(descriptor_.number(), static_cast<off_t>(holder.size())) != 0)
        errno = 0; // only a message would be less helpful
}

bool file_lock::is_held(const std::filesystem::path& file) {
    const file_descriptor at(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    // A read lock conflicts with the writer's.
    return at.number() >= 0 && ofd_lock::in_the_way(at.number(), ofd_lock::kind::shared)
                                       .value_or(ofd_lock::kind::none) != ofd_lock::kind::none;
}

} // namespace chainbase
