#include <tools/driver/import/final_name.hpp>
#include <tools/driver/import/unfinished_name.hpp>

#include <system_error>
#include <utility>

namespace chainbase {

std::filesystem::path unfinished_path(std::filesystem::path path) {
    path += ".unfinished";
    return path;
}

unfinished_name::unfinished_name(std::filesystem::path path)
    : path_(std::move(path)), temporary_(unfinished_path(path_)) {
    require_free(path_);
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
}

unfinished_name::~unfinished_name() {
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
}

void unfinished_name::give() {
    give_final_name(temporary_, path_);
    sync_folder_of(path_);
}

} // namespace chainbase
