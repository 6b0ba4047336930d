#include <chainbase/files.hpp>
#include <chainbase/folder.hpp>
#include <chainbase/unfinished_name.hpp>
#include <pool_allocator/error.hpp>

#include <system_error>
#include <utility>

namespace chainbase {

namespace {

std::filesystem::path without_slash(std::filesystem::path path) {
    return path.has_filename() ? path : path.parent_path();
}

} // namespace

void require_free(const std::filesystem::path& path) {
    if (std::filesystem::exists(std::filesystem::symlink_status(path))) throw exists_already(path);
}

std::filesystem::path unfinished_path(std::filesystem::path path) {
    path += ".unfinished";
    return path;
}

unfinished_name::unfinished_name(std::filesystem::path target, leftover what)
    : target_(without_slash(std::move(target))), path_(unfinished_path(target_)),
      is_owned_(what == leftover::is_removed) {
    require_free(target_);
    if (is_owned_) try_to_remove_tree(path_); // making it says why not
}

unfinished_name::~unfinished_name() {
    if (origin_.is_here()) discard();
}

void unfinished_name::finish() {
    finish_with(path_);
}

void unfinished_name::finish_with(const std::filesystem::path& part) {
    if (!rename_new(part, target_)) throw exists_already(target_);
    if (part == path_) is_owned_ = false; // whoever makes another one now has that name
    sync_folder(target_.parent_path());
}

void unfinished_name::discard() noexcept {
    if (!std::exchange(is_owned_, false)) return;
    try_to_remove_tree(path_); // the next call finds a leftover
}

} // namespace chainbase
