#pragma once

#include <pool_allocator/file_descriptor.hpp>

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace chainbase::trace {

/// A file of whole lines that only grows: what does not fit is not there by half. For one thread.
class growing_file {
public:
    enum class existing {
        is_continued, ///< behind its last whole line: what a kill left of one is cut off
        is_refused,   ///< with usage_error: it may be somebody's
    };

    /// Opens `file`, or makes it. Throws io_error, out_of_space_error.
    growing_file(std::filesystem::path file, existing how);

    /// Appends `lines`, which end with a newline, or throws out_of_space_error or io_error with the
    /// file as it was.
    void append(std::string_view lines);

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return file_; }

private:
    void cut_half_a_line();

    std::filesystem::path file_;
    file_descriptor descriptor_;
    std::uint64_t bytes_ = 0;
};

} // namespace chainbase::trace
