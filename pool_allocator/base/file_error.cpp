#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>

#include <cerrno>
#include <cstring>
#include <string>

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

} // namespace

void throw_file_error(const std::filesystem::path& file, std::string_view what) {
    const int reason = errno;
    const std::string message =
        "cannot " + std::string(what) + " " + file.string() + ": " + std::strerror(reason);
    if (reason == ENOSPC || reason == EDQUOT) throw out_of_space_error(message + "; free space");
    if (reason == EFBIG) throw out_of_space_error(message + "; raise the limit (ulimit -f)");
    throw io_error(message + advice(reason));
}

void require_there(const std::filesystem::path& file) {
    std::error_code unknown; // opening it reports the reason
    if (std::filesystem::symlink_status(file, unknown).type() !=
        std::filesystem::file_type::not_found)
        return;
    throw damaged_error(file.string() +
                        ": missing; restore it from a copy, or, if the state has a checkpoint, "
                        "move the segment's folder away and open the state for writing, which goes "
                        "back to that, or replay into a new folder");
}

std::string quoted(const std::filesystem::path& path) {
    std::string text = "'";
    for (const char c : path.string())
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

} // namespace chainbase
