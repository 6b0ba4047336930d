#include <chainbase/files.hpp>
#include <pool_allocator/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace chainbase {

namespace {

const char* advice(int reason) {
    switch (reason) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
        return "; check the path";
    case EACCES:
    case EPERM:
        return "; check the permissions and the owner";
    case EROFS:
        return "; make the file system writable, or open read-only";
    case ENOMEM:
        return "; free memory, or raise the limit of addresses (ulimit -v)";
    case EMFILE:
    case ENFILE:
        return "; raise the limit of open files (ulimit -n)";
    default:
        return "; check the disk";
    }
}

/// Closes at the end of its scope.
struct descriptor {
    int number;
    ~descriptor() {
        if (number >= 0) ::close(number);
    }
};

void write_all(int to, std::string_view content, const std::filesystem::path& file) {
    while (!content.empty()) {
        const ssize_t written = ::write(to, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw_file_error(file, "write");
        content.remove_prefix(static_cast<std::size_t>(written));
    }
}

struct flock whole_file(short type) {
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

} // namespace

void throw_file_error(const std::filesystem::path& file, std::string_view what) {
    const int reason = errno;
    const std::string message =
        "cannot " + std::string(what) + " " + file.string() + ": " + std::strerror(reason);
    if (reason == ENOSPC || reason == EDQUOT) throw out_of_space_error(message + "; free space");
    throw io_error(message + advice(reason));
}

std::string read_file(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw_file_error(file, "open");
    try {
        return {std::istreambuf_iterator<char>(in), {}};
    } catch (const std::ios_base::failure&) { // a folder, or a sector that cannot be read
        throw_file_error(file, "read");
    }
}

void replace_file(const std::filesystem::path& file, std::string_view content) {
    const std::filesystem::path fresh = file.string() + ".new";
    {
        const descriptor to{::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
        if (to.number < 0) throw_file_error(fresh, "create");
        write_all(to.number, content, fresh);
        if (::fsync(to.number) != 0) throw_file_error(fresh, "sync");
    }
    if (::rename(fresh.c_str(), file.c_str()) != 0) throw_file_error(file, "replace");
    sync_folder(file.parent_path());
}

void sync_folder(const std::filesystem::path& folder) {
    const descriptor at{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (at.number < 0) throw_file_error(folder, "open");
    if (::fsync(at.number) != 0) throw_file_error(folder, "sync");
}

file_lock::file_lock(const std::filesystem::path& file, bool create)
    : descriptor_(::open(file.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0644)) {
    if (descriptor_ < 0) throw_file_error(file, "open");
    struct flock lock = whole_file(F_WRLCK);
    if (fcntl(descriptor_, F_OFD_SETLK, &lock) == 0) return;
    const int reason = errno;
    char text[24] = {};
    const ssize_t length = ::pread(descriptor_, text, sizeof text - 1, 0);
    ::close(descriptor_);
    errno = reason;
    if (reason != EAGAIN && reason != EACCES) throw_file_error(file, "lock");
    throw locked_error(file.string() + ": a writer has this state open (process " +
                       std::string(text, length > 1 ? static_cast<std::size_t>(length - 1) : 0) +
                       "); stop it first, or open the state read-only");
}

void file_lock::announce() noexcept {
    const std::string holder = std::to_string(getpid()) + "\n";
    if (::pwrite(descriptor_, holder.data(), holder.size(), 0) < 0 ||
        ::ftruncate(descriptor_, static_cast<off_t>(holder.size())) != 0)
        errno = 0; // only a message would be less helpful
}

file_lock::~file_lock() {
    ::close(descriptor_);
}

bool file_lock::is_held(const std::filesystem::path& file) {
    const descriptor at{::open(file.c_str(), O_RDONLY | O_CLOEXEC)};
    if (at.number < 0) return false;
    struct flock lock = whole_file(F_RDLCK); // asks; a read lock conflicts with the writer's
    return fcntl(at.number, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

} // namespace chainbase
