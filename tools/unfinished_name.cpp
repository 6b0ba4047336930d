#include <pool_allocator/error.hpp>
#include <tools/unfinished_name.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

namespace chainbase {

namespace {

usage_error exists_already(const std::filesystem::path& path) {
    return usage_error(path.string() +
                       ": exists already and is not overwritten; remove it or choose "
                       "another name");
}

io_error refused(const std::filesystem::path& path, const char* operation) {
    return io_error(path.string() + ": " + operation +
                    " failed: " + std::generic_category().message(errno) +
                    "; check the path and its permissions, then call again");
}

} // namespace

void require_free(const std::filesystem::path& path) {
    if (std::filesystem::exists(path)) throw exists_already(path);
}

void give_final_name(const std::filesystem::path& temporary, const std::filesystem::path& path) {
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0)
        return;
    if (errno == EEXIST) throw exists_already(path);
    if (errno != EINVAL) throw refused(path, "rename");
    // A file system that cannot tell: the last look before is all there is.
    if (std::filesystem::exists(path)) throw exists_already(path);
    if (::rename(temporary.c_str(), path.c_str()) != 0) throw refused(path, "rename");
}

void sync_folder_of(const std::filesystem::path& path) {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) throw refused(folder, "open");
    const int failed = ::fsync(descriptor);
    const int reason = errno;
    ::close(descriptor);
    errno = reason;
    if (failed != 0) throw refused(folder, "fsync");
}

std::filesystem::path unfinished_path(std::filesystem::path path) {
    path += ".unfinished";
    return path;
}

unfinished_name::unfinished_name(std::filesystem::path path)
    : path_(std::move(path)), temporary_(unfinished_path(path_)) {
    require_free(path_);
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
}

unfinished_name::~unfinished_name() {
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
}

void unfinished_name::give() {
    give_final_name(temporary_, path_);
    sync_folder_of(path_);
}

} // namespace chainbase
