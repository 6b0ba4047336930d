#include <tools/driver/import/final_name.hpp>
#include <tools/driver/import/unfinished_name.hpp>

#include <system_error>
#include <utility>

namespace chainbase {
namespace {

std::filesystem::path temporary_name(std::filesystem::path path) {
    path += ".unfinished";
    return path;
}

} // namespace

unfinished_name::unfinished_name(std::filesystem::path path)
    : path_(std::move(path)), temporary_(temporary_name(path_)) {
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
