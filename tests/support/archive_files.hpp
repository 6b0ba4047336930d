#pragma once

#include <filesystem>

namespace chainbase::test {

/// The largest of the files that RocksDB keeps rows in, below the folder of an archive.
inline std::filesystem::path largest_table_file(const std::filesystem::path& archive) {
    namespace fs = std::filesystem;
    fs::path largest;
    for (const auto& one : fs::recursive_directory_iterator(archive))
        if (one.path().extension() == ".sst" &&
            (largest.empty() || one.file_size() > fs::file_size(largest)))
            largest = one.path();
    return largest;
}

} // namespace chainbase::test
