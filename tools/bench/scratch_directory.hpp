#pragma once

#include <filesystem>

namespace chainbase::bench {

/// A fresh folder that is removed with everything in it.
class scratch_directory {
public:
    /// Throws: chainbase::io_error when no folder can be made in `parent`.
    explicit scratch_directory(const std::filesystem::path& parent);
    ~scratch_directory();
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

} // namespace chainbase::bench
