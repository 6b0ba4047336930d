#include <archive/backup/unfinished_folder.hpp>
#include <archive/detail/fault_steps.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/file_error.hpp>
#include <pool_allocator/private_folder.hpp>

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace chainbase::archive::detail {

namespace {

namespace fs = std::filesystem;

constexpr const char* mark = "chainbase: made by backup or restore\n";

/// Everything that a backup or a restored state has at its top.
bool is_ours(const fs::path& name) {
    return name == "lock" || name == "checkpoint" || name == "archive" || name == "manifest" ||
           name == "manifest.new";
}

fs::path without_end(const fs::path& target) {
    const fs::path whole = fs::absolute(target).lexically_normal();
    return whole.has_filename() ? whole : whole.parent_path(); // "backup/"
}

} // namespace

unfinished_folder::unfinished_folder(fs::path target, const std::string& readers_group)
    : target_(without_end(target)), path_(target_.string() + ".unfinished") {
    require_free_target();
    if (!fs::is_directory(target_.parent_path()))
        throw usage_error(target_.string() + ": there is no folder " +
                          target_.parent_path().string() + " to make it in; check the path");
    if (fs::exists(fs::symlink_status(path_))) require_ours();
    private_folder::make(path_, readers_group.empty() ? std::nullopt
                                                      : std::optional(group_called(readers_group)));
    fault::reach(fault::backup_step::folder_made);
    take_lock();
    overwrite_file(path_ / "lock", mark);
    sync_folder(path_);
    sync_folder(target_.parent_path());
    fault::reach(fault::backup_step::folder_marked);
    remove_content();
    fault::reach(fault::backup_step::folder_emptied);
}

unfinished_folder::~unfinished_folder() {
    if (is_finished_) return;
    std::error_code ignored; // what failed is on its way to the caller; the next call tries again
    fs::remove_all(path_, ignored);
}

void unfinished_folder::require_free_target() const {
    if (!fs::exists(fs::symlink_status(target_))) return;
    throw usage_error(target_.string() +
                      ": is there already, and nothing is overwritten; give another name, or move "
                      "it away");
}

/// One that is empty was made by a call that died before it could say what it is.
void unfinished_folder::require_ours() const {
    const auto foreign = [&](const std::string& what) {
        return usage_error(path_.string() + ": " + what +
                           ", so it is not what an earlier call left; nothing in it was touched: "
                           "move it away, or give another name");
    };
    if (!fs::is_directory(fs::symlink_status(path_))) throw foreign("is no folder");
    const bool is_marked_ours = is_marked(path_);
    for (const auto& entry : fs::directory_iterator(path_)) {
        const fs::path name = entry.path().filename();
        const bool is_lock_alone = name == "lock" && fs::is_empty(entry.path());
        if (!is_ours(name) || (!is_marked_ours && !is_lock_alone))
            throw foreign("holds " + name.string());
    }
}

bool unfinished_folder::is_marked(const fs::path& folder) {
    return fs::exists(folder / "lock") && read_file(folder / "lock") == mark;
}

void unfinished_folder::take_lock() {
    try {
        lock_.emplace(path_ / "lock", /*create=*/true);
    } catch (const locked_error&) {
        throw locked_error(path_.string() + ": another process is making it; wait for that one");
    }
}

void unfinished_folder::remove_content() const {
    for (const auto& entry : fs::directory_iterator(path_))
        if (entry.path().filename() != "lock") fs::remove_all(entry.path());
}

void unfinished_folder::finish() {
    sync_folder(path_);
    const int failed =
        ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE);
    if (failed != 0 && errno == EEXIST) require_free_target();
    if (failed != 0) throw_file_error(target_, "give the finished folder the name");
    is_finished_ = true;
    sync_folder(target_.parent_path());
    fault::reach(fault::backup_step::in_place);
}

} // namespace chainbase::archive::detail
