#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

/// A verb's output file, written whole or not at all by a rename. Replaces an existing file.
class output_file {
public:
    /// Does not touch the file. Throws usage_error when it must not be replaced (a folder, a
    /// device), lies in one of `folders`, which are being read, or its own folder does not exist.
    output_file(std::filesystem::path file, const std::vector<std::filesystem::path>& folders);

    /// Throws io_error, out_of_space_error; the file is then unchanged.
    void write(std::string_view content) const;

private:
    std::filesystem::path file_;
};

} // namespace chainbase::inspect
