#pragma once

#include <chainbase/checkpoint/disk.hpp>
#include <chainbase/checkpoint/outcome.hpp>

#include <cstdint>
#include <filesystem>

namespace chainbase::archive::detail {

/// Says how much of all is done while several files are read.
class copy_progress {
public:
    copy_progress(std::uint64_t all, const checkpoint::progress& tell) : all_(all), tell_(tell) {}
    void advance(std::uint64_t bytes) {
        done_ += bytes;
        if (tell_) tell_(done_, all_);
    }

private:
    std::uint64_t all_;
    std::uint64_t done_ = 0;
    const checkpoint::progress& tell_;
};

/// XXH3-64 of the first `bytes` of a file. Throws damaged_error when it is shorter, io_error.
[[nodiscard]] std::uint64_t sum_of(const disk_file& file, const std::filesystem::path& name,
                                   std::uint64_t bytes, copy_progress& told);

/// Copies the first `bytes` of a file to the new file `to` of a private folder, and waits until
/// they are on storage. Blocks of zeros become holes. Returns the sum of what was copied. Throws
/// damaged_error when the file is shorter, io_error, out_of_space_error.
std::uint64_t copy_file(const disk_file& from, const std::filesystem::path& name,
                        std::uint64_t bytes, const std::filesystem::path& to, copy_progress& told);

/// Waits until the names of all that is in `folder`, and below, are on storage, and the content of
/// each file. Throws io_error.
void sync_tree(const std::filesystem::path& folder);

/// Copies the rocksdb store in the folder `archive` to the new folder `into`, file by file, as a
/// kill of its writer would leave it at one moment after this was called. Takes no lock and
/// changes nothing there; a writer may be at work, in this process or in another one. Every row
/// that was written before is in the copy.
///
/// How: RocksDB only appends to its log and its manifest, and never changes another file. So all
/// files are opened, and if none came or went meanwhile and the manifest did not grow, they belong
/// to one moment, each up to the length that it had then; else that is repeated. They stay readable
/// whatever the writer deletes while they are copied.
///
/// Throws format_error when there is no such store, io_error (also when the writer replaces files
/// again and again), out_of_space_error, and what `tell` throws.
void copy_rocksdb(const std::filesystem::path& archive, const std::filesystem::path& into,
                  const checkpoint::progress& tell);

} // namespace chainbase::archive::detail
