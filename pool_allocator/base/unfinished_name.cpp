#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/unfinished_name.hpp>

#include <system_error>
#include <utility>

namespace chainbase {

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
    if (is_owned_) try_to_remove_tree(path_); // creating it reports the reason
}

unfinished_name::~unfinished_name() {
    if (origin_.is_here()) discard();
}

void unfinished_name::finish() {
    finish_with(path_);
}

void unfinished_name::finish_with(const std::filesystem::path& part) {
    if (!rename_new(part, target_)) throw exists_already(target_);
    if (part == path_) is_owned_ = false; // the name is free for the next one
    sync_folder(target_.parent_path());
}

void unfinished_name::discard() noexcept {
    if (!std::exchange(is_owned_, false)) return;
    try_to_remove_tree(path_); // else the next call finds a leftover
}

} // namespace chainbase
