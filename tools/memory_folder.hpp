#pragma once

#include <tools/command_line.hpp>

#include <filesystem>
#include <string>

namespace chainbase {

/// --memory-folder of the verbs that make or open a state: open_options::memory_folder.
inline command_option& add_memory_folder(command& verb, std::filesystem::path& to) {
    return verb
        .add_option("--memory-folder", to,
                    "where to keep the segment, such as /dev/shm; none: in the state's folder; "
                    "default: where it was, and a new one in /dev/shm if there is room")
        .value_name("FOLDER")
        .check([](const std::string& word) { // before a state is made that cannot use it
            const bool is_good = word == "none" || std::filesystem::is_directory(word);
            return is_good ? std::string() : word + " is no folder that exists, nor none";
        });
}

} // namespace chainbase
