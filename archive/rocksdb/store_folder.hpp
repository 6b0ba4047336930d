#pragma once

#include <pool_allocator/base/file_descriptor.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace chainbase::archive::detail {

/// The last durable write as recorded by a store, and whether it was closed after it.
struct synced_mark {
    std::uint64_t sequence = 0; ///< RocksDB's number of the last durable write
    bool closed = false;
};

/// The folder of a store on disk, apart from what RocksDB keeps in it:
///
///     FOLDER/format    what the folder is and of which version; the writer locks it
///     FOLDER/synced    the synced_mark
///     FOLDER/rocksdb/  RocksDB's own files, its log among them
///     FOLDER/ingest/   sorted files that are being made for it
///
/// A private folder with the readers of the folder it lies in (a state's).
///
/// Not thread-safe.
class store_folder {
public:
    /// For a writer: makes the folder when it is missing or empty, and takes the lock, which the
    /// kernel releases when the process dies. Throws format_error when it is anything else than a
    /// store of this version, locked_error when another writer holds it.
    static store_folder open_for_writing(const std::filesystem::path& folder);

    /// For a reader: changes nothing.
    static store_folder open_for_reading(const std::filesystem::path& folder);

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_; }
    [[nodiscard]] std::filesystem::path rocksdb() const { return folder_ / "rocksdb"; }
    [[nodiscard]] std::filesystem::path ingest() const { return folder_ / "ingest"; }

    /// Gives the writer's lock up. Closing alone leaves it to a fork that has the file open, too.
    void unlock() const noexcept;
    /// Whether another process or object has the writer's lock.
    [[nodiscard]] bool is_being_written() const;

    /// Returns none when the store was never completely made. Throws damaged_error when the file is
    /// malformed.
    [[nodiscard]] std::optional<synced_mark> mark() const;

    /// Replaces the mark, durably and atomically.
    void write_mark(const synced_mark& mark) const;

private:
    store_folder(std::filesystem::path folder, file_descriptor lock);

    std::filesystem::path folder_;
    file_descriptor lock_; // without a number for a reader
};

} // namespace chainbase::archive::detail
