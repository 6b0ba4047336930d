#pragma once

#include <filesystem>

namespace chainbase::driver {

/// The lock of a folder, which leaves nothing in it: the kernel releases it when its holder dies.
/// Not thread-safe.
class folder_lock {
public:
    /// Throws locked_error when another one has it, and io_error.
    explicit folder_lock(const std::filesystem::path& folder);
    folder_lock(const folder_lock&) = delete;
    folder_lock& operator=(const folder_lock&) = delete;
    ~folder_lock();

    /// Whether the folder has this name, and none that took its place.
    [[nodiscard]] bool is_of(const std::filesystem::path& path) const;

private:
    int descriptor_;
};

} // namespace chainbase::driver
