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

} // namespace chainbase::archive::detail
