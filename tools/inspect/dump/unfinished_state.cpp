#include <chainbase/files.hpp>
#include <pool_allocator/error.hpp>
#include <pool_allocator/file_error.hpp>
#include <pool_allocator/private_folder.hpp>
#include <tools/inspect/dump/unfinished_state.hpp>

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace chainbase::inspect {

namespace fs = std::filesystem;

namespace {

constexpr const char* mark = "unfinished";

void require_free(const fs::path& target) {
    if (fs::exists(fs::symlink_status(target)))
        throw usage_error(target.string() + " is there already; choose another name");
}

} // namespace

unfinished_state::unfinished_state(fs::path target, const std::string& readers)
    : target_(fs::absolute(std::move(target))) {
    if (target_.filename().empty()) target_ = target_.parent_path();
    require_free(target_);
    const auto group = readers.empty() ? std::nullopt : std::optional(group_called(readers));
    around_ = target_.string() + ".unfinished";
    remove_remains();
    private_folder::make(around_, std::nullopt);
    replace_file(around_ / mark, "");
    private_folder::make(path(), group);
}

void unfinished_state::remove_remains() const {
    if (!fs::exists(fs::symlink_status(around_))) return;
    if (!fs::is_regular_file(fs::symlink_status(around_ / mark)))
        throw usage_error(around_.string() +
                          " is there, and nothing says what it is; remove it, or "
                          "choose another name");
    if (fs::exists(path() / "lock") && file_lock::is_held(path() / "lock"))
        throw locked_error(around_.string() + ": another process is making a state there");
    fs::remove_all(around_);
}

unfinished_state::~unfinished_state() {
    std::error_code ignored;
    fs::remove_all(around_, ignored);
}

void unfinished_state::finish() {
    if (::renameat2(AT_FDCWD, path().c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) != 0) {
        require_free(target_);
        if (errno != EINVAL && errno != ENOSYS) throw_file_error(target_, "rename to");
        fs::rename(path(), target_);
    }
    sync_folder(target_.parent_path());
}

} // namespace chainbase::inspect
