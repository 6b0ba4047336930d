#pragma once

#include <pool_allocator/private_folder.hpp>

#include <rocksdb/file_system.h>

#include <filesystem>
#include <memory>
#include <string>

namespace chainbase::archive::detail {

/// The operating system's files as RocksDB uses them, but for the rights of those that it makes:
/// they are for who may look at the store's folder, whatever the umask. Thread-safe.
class private_file_system final : public rocksdb::FileSystemWrapper {
public:
    /// For a store in `folder`. Throws as private_folder does.
    explicit private_file_system(const std::filesystem::path& folder);

    [[nodiscard]] const char* Name() const override { return "private_file_system"; }

    rocksdb::IOStatus NewWritableFile(const std::string& file, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus ReopenWritableFile(const std::string& file,
                                         const rocksdb::FileOptions& options,
                                         std::unique_ptr<rocksdb::FSWritableFile>* result,
                                         rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus CreateDir(const std::string& folder, const rocksdb::IOOptions& options,
                                rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus CreateDirIfMissing(const std::string& folder,
                                         const rocksdb::IOOptions& options,
                                         rocksdb::IODebugContext* debug) override;
    rocksdb::IOStatus LockFile(const std::string& file, const rocksdb::IOOptions& options,
                               rocksdb::FileLock** lock, rocksdb::IODebugContext* debug) override;

private:
    /// When `made` says that it is there.
    [[nodiscard]] rocksdb::IOStatus adopt(rocksdb::IOStatus made, const std::string& path) const;

    private_folder folder_;
};

} // namespace chainbase::archive::detail
