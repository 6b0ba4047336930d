#pragma once

#include <pool_allocator/base/file_descriptor.hpp>

#include <cstdint>
#include <filesystem>

namespace chainbase {

/// Identifies one file; no copy of the file has the same identity, wherever it is put.
struct file_identity {
    std::uint64_t device = 0; ///< 0 on overlayfs, which has another one after each mount
    std::uint64_t inode = 0;
    std::int64_t born = 0; ///< nanoseconds since 1970; 0 where the file system does not keep that

    /// The identity of an open file; `name` is for messages. Throws io_error.
    [[nodiscard]] static file_identity of(const file_descriptor& file,
                                          const std::filesystem::path& name);

    friend bool operator==(const file_identity&, const file_identity&) = default;
};

} // namespace chainbase
