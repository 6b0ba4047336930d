#include <archive/detail/files_below.hpp>
#include <archive/detail/private_file_system.hpp>
#include <pool_allocator/error.hpp>

namespace chainbase::archive::detail {

using rocksdb::IOStatus;

private_file_system::private_file_system(const std::filesystem::path& folder)
    : FileSystemWrapper(fault::files_below()), folder_(folder, /*writing=*/true) {}

IOStatus private_file_system::NewWritableFile(const std::string& file,
                                              const rocksdb::FileOptions& options,
                                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                                              rocksdb::IODebugContext* debug) {
    return adopt(FileSystemWrapper::NewWritableFile(file, options, result, debug), file);
}

IOStatus private_file_system::ReopenWritableFile(const std::string& file,
                                                 const rocksdb::FileOptions& options,
                                                 std::unique_ptr<rocksdb::FSWritableFile>* result,
                                                 rocksdb::IODebugContext* debug) {
    return adopt(FileSystemWrapper::ReopenWritableFile(file, options, result, debug), file);
}

IOStatus private_file_system::CreateDir(const std::string& folder,
                                        const rocksdb::IOOptions& options,
                                        rocksdb::IODebugContext* debug) {
    return adopt(FileSystemWrapper::CreateDir(folder, options, debug), folder);
}

IOStatus private_file_system::CreateDirIfMissing(const std::string& folder,
                                                 const rocksdb::IOOptions& options,
                                                 rocksdb::IODebugContext* debug) {
    return adopt(FileSystemWrapper::CreateDirIfMissing(folder, options, debug), folder);
}

IOStatus private_file_system::LockFile(const std::string& file, const rocksdb::IOOptions& options,
                                       rocksdb::FileLock** lock, rocksdb::IODebugContext* debug) {
    return adopt(FileSystemWrapper::LockFile(file, options, lock, debug), file);
}

IOStatus private_file_system::adopt(IOStatus made, const std::string& path) const {
    if (!made.ok()) return made;
    try {
        folder_.adopt(path);
    } catch (const error& failed) {
        return IOStatus::IOError(failed.what());
    }
    return made;
}

} // namespace chainbase::archive::detail
