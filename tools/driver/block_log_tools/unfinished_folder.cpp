#include <pool_allocator/error.hpp>
#include <tools/driver/block_log_tools/unfinished_folder.hpp>
#include <tools/driver/import/final_name.hpp>
#include <tools/driver/import/unfinished_name.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace chainbase::driver {

namespace {

constexpr const char* piece_prefix = "from-";

std::filesystem::path without_slash(std::filesystem::path path) {
    return path.has_filename() ? path : path.parent_path();
}

/// Only what pieces are called may go, and only when nobody is making it.
void remove_leftover(const std::filesystem::path& folder) {
    if (!std::filesystem::exists(folder)) return;
    if (!std::filesystem::is_directory(folder))
        throw usage_error(folder.string() + ": is in the way and no folder; move it away");
    for (const auto& one : std::filesystem::directory_iterator(folder))
        if (!one.is_regular_file() || !one.path().filename().string().starts_with(piece_prefix))
            throw usage_error(one.path().string() +
                              ": nothing that an interrupted call left behind; move it away");
    const folder_lock held(folder);
    if (held.is_of(folder)) std::filesystem::remove_all(folder);
}

} // namespace

unfinished_folder::unfinished_folder(std::filesystem::path path)
    : path_(without_slash(std::move(path))), temporary_(unfinished_path(path_)) {
    require_free(path_);
    remove_leftover(temporary_);
    std::error_code problem;
    if (!std::filesystem::create_directory(temporary_, problem))
        throw io_error(temporary_.string() + ": cannot be made: " + problem.message() +
                       "; check the path and its permissions, then call again");
    lock_.emplace(temporary_);
}

unfinished_folder::~unfinished_folder() {
    if (is_finished_) return; // who makes another one now has that name
    std::error_code ignored;
    std::filesystem::remove_all(temporary_, ignored);
}

std::filesystem::path unfinished_folder::piece(std::uint64_t first) const {
    return temporary_ / fmt::format("{}{:020}.blocks", piece_prefix, first);
}

void unfinished_folder::finish() {
    give_final_name(temporary_, path_);
    is_finished_ = true;
    sync_folder_of(path_);
}

} // namespace chainbase::driver
