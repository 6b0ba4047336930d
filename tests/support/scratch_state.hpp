#pragma once

#include <chainbase/segment.hpp>

#include <filesystem>
#include <string_view>

namespace chainbase::test {

/// A fresh folder, in memory where at least 1 GiB of it is free; gone with the object.
class scratch_folder {
public:
    scratch_folder();
    ~scratch_folder();
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
        return path_ / name;
    }

private:
    std::filesystem::path path_;
};

/// Small windows, no waiting for storage, and no checkpoints.
[[nodiscard]] open_options quick_options(open_mode mode = open_mode::read_write);

} // namespace chainbase::test
