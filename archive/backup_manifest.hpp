#pragma once

#include <archive/store.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace chainbase::archive {

/// What a backup says of itself: the file `manifest` in it, which is written last. A folder without
/// it is no backup.
///
///     chainbase backup, format 1, XXH3-64 <16 hexadecimal digits of all that follows>
///     JSON: what is below
struct backup_manifest {
    struct file {
        std::string name; ///< from the backup's folder on: "checkpoint/pages"
        std::uint64_t bytes = 0;
        std::uint64_t sum = 0; ///< XXH3-64 of its content
    };

    std::array<std::byte, 16> state{}; ///< the identity of the state
    std::uint64_t generation = 0;      ///< of the checkpoint
    std::int64_t revision = 0;         ///< the newest that was pushed
    std::int64_t committed = 0;        ///< the newest that cannot be undone
    std::int64_t time = 0;             ///< when the checkpoint was made, Unix seconds
    store_kind archive = store_kind::rocksdb;
    std::map<std::string, std::uint64_t> rows;  ///< by table; none where rows are in the state
    std::map<std::string, std::string> remarks; ///< of the program that made it: chain, head...
    std::vector<file> files;

    [[nodiscard]] std::uint64_t bytes() const noexcept; ///< of all files
    [[nodiscard]] std::string identity() const;         ///< 32 hexadecimal digits

    [[nodiscard]] std::string encode() const;
    /// Of the backup in `folder`. Throws format_error when that is no backup, a backup that was cut
    /// off, or one of another format, and damaged_error when the file was altered; io_error.
    [[nodiscard]] static backup_manifest read(const std::filesystem::path& folder);
};

} // namespace chainbase::archive
