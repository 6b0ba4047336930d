#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace chainbase::test {

/// Every file below a folder, with its time of change and its content.
using folder_image = std::map<std::string, std::pair<std::filesystem::file_time_type, std::string>>;

inline folder_image image_of(const std::filesystem::path& folder) {
    folder_image image;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        std::string content;
        if (entry.is_regular_file()) {
            std::ifstream in(entry.path(), std::ios::binary);
            content.assign(std::istreambuf_iterator<char>(in), {});
        }
        image[entry.path().string()] = {entry.last_write_time(), std::move(content)};
    }
    return image;
}

/// The same without the file in which processes take turns.
inline folder_image content_of(const std::filesystem::path& state) {
    folder_image image = image_of(state);
    image.erase((state / "readers").string());
    return image;
}

} // namespace chainbase::test
