#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

/// A file that a verb writes a picture to, for people: whole or not at all, since it comes by
/// rename. One that is there is replaced.
class output_file {
public:
    /// Does not touch the file. Throws usage_error when it is none that may be replaced (a folder,
    /// a device), lies in one of `folders`, which are looked at, or its own folder is not there.
    output_file(std::filesystem::path file, const std::vector<std::filesystem::path>& folders);

    /// Throws io_error, out_of_space_error; then the file is what it was.
    void write(std::string_view content) const;

private:
    std::filesystem::path file_;
};

} // namespace chainbase::inspect
