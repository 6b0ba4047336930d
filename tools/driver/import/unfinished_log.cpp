#include <pool_allocator/error.hpp>
#include <tools/driver/import/unfinished_log.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

namespace chainbase {
namespace {

/// A log that is kept is packed as small as it gets, and in batches: its blocks are tiny.
constexpr block_log_options packing{.level = 19, .batch_bytes = 256 << 10};

std::filesystem::path temporary_name(std::filesystem::path path) {
    path += ".unfinished";
    return path;
}

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

/// Never over a file that appeared while the work went on.
void give_name(const std::filesystem::path& temporary, const std::filesystem::path& path) {
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0)
        return;
    if (errno == EEXIST) throw exists_already(path);
    if (errno != EINVAL) throw refused(path, "rename");
    // A file system that cannot tell: the last look before is all there is.
    if (std::filesystem::exists(path)) throw exists_already(path);
    if (::rename(temporary.c_str(), path.c_str()) != 0) throw refused(path, "rename");
}

/// A new name is on the device when its folder is.
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

block_log_writer create_log(const std::filesystem::path& path,
                            const std::filesystem::path& temporary, std::string_view chain) {
    if (std::filesystem::exists(path)) throw exists_already(path);
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return block_log_writer::create(temporary, chain, packing);
}

} // namespace

unfinished_log::unfinished_log(std::filesystem::path path, std::string_view chain)
    : path_(std::move(path)), temporary_(temporary_name(path_)),
      writer_(create_log(path_, temporary_, chain)) {}

unfinished_log::~unfinished_log() {
    writer_.abandon();
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
    std::filesystem::remove(index_path(temporary_), ignored);
}

std::uint64_t unfinished_log::finish() {
    writer_.sync();
    const std::uint64_t size = writer_.bytes();
    writer_.close();
    give_name(temporary_, path_);
    std::error_code ignored; // without its index a log is complete all the same
    std::filesystem::rename(index_path(temporary_), index_path(path_), ignored);
    sync_folder_of(path_);
    return size;
}

} // namespace chainbase
