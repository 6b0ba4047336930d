#include <pool_allocator/base/decimal.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/file_error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

namespace chainbase {

namespace {

namespace fs = std::filesystem;

constexpr mode_t permissions = 07777;
constexpr mode_t for_group = S_IRGRP | S_IXGRP;

std::string user(uid_t number) {
    std::array<char, 4096> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    const bool is_known =
        getpwuid_r(number, &entry, buffer.data(), buffer.size(), &found) == 0 && found;
    return "user " + std::to_string(number) +
           (is_known ? " (" + std::string(entry.pw_name) + ")" : std::string());
}

std::string octal(mode_t mode) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "%04o", mode & permissions);
    return text.data();
}

fs::path folder_of(const fs::path& file) {
    return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

struct stat status_of(const file_descriptor& opened, const fs::path& file) {
    struct stat found{};
    if (fstat(opened.number(), &found) != 0) throw_file_error(file, "examine");
    return found;
}

[[noreturn]] void refuse_owner(const fs::path& what, const fs::path& within, uid_t found,
                               uid_t wanted, const std::string& who) {
    throw access_error(what.string() + ": belongs to " + user(found) + ", and " + who + " " +
                       user(wanted) + "; if it is what it should be, `chown -hR " +
                       std::to_string(wanted) + " -- " + quoted(within) +
                       "`, or run the program as the user it belongs to");
}

[[noreturn]] void refuse_mode(const fs::path& what, mode_t found, const std::string& means,
                              const std::string& command) {
    throw access_error(what.string() + ": has mode " + octal(found) + ", which lets " + means +
                       "; if nobody meddled with it, `" + command + " -- " + quoted(what) + "`");
}

[[noreturn]] void refuse_kind(const fs::path& file) {
    throw access_error(file.string() + ": is not a regular file; move it away and put the file "
                                       "of the state in its place, from a copy (for `lock` an "
                                       "empty one will do, if no process has the state open)");
}

file_descriptor opened_path(const fs::path& path) {
    file_descriptor opened(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (opened.number() < 0) throw_file_error(path, "open");
    return opened;
}

bool needs_owner(file_use how) noexcept {
    return how != file_use::read && how != file_use::share;
}

/// Sets group and mode while only the owner has access.
void set_rights(const file_descriptor& of, const fs::path& file, mode_t mode,
                std::optional<gid_t> group) {
    if (group && fchown(of.number(), static_cast<uid_t>(-1), *group) != 0)
        throw_file_error(file, "give group " + std::to_string(*group) + " access to");
    if (fchmod(of.number(), mode) != 0) throw_file_error(file, "set the mode of");
}

} // namespace

private_folder::private_folder(fs::path path, bool writing)
    : path_(without_slash(std::move(path))), descriptor_(opened_path(path_)) {
    const struct stat found = status_of(descriptor_, path_);
    if (S_ISLNK(found.st_mode))
        throw access_error(path_.string() + ": is a symbolic link; name the folder it leads to");
    if (!S_ISDIR(found.st_mode))
        throw format_error(path_.string() + ": is not a folder; check the path");
    owner_ = found.st_uid;
    if (writing && owner_ != geteuid())
        refuse_owner(path_, path_, owner_, geteuid(), "this program runs as");
    if ((found.st_mode & S_ISVTX) != 0) // such as /tmp, which no command should change
        throw access_error(path_.string() + ": is a shared folder for everyone's files; name a "
                                            "folder in it that belongs to the state alone");
    const mode_t open_to = found.st_mode & 0077;
    if ((open_to & S_IWGRP) != 0 || (open_to & 0007) != 0)
        refuse_mode(path_, found.st_mode, "others read or change it", "chmod -R go=");
    if ((open_to & for_group) == for_group) readers_ = found.st_gid;
}

void private_folder::make(const fs::path& path, std::optional<gid_t> readers) {
    const fs::path folder = without_slash(path);
    if (::mkdir(folder.c_str(), 0700) == 0) {
        const file_descriptor made(
            ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (made.number() < 0) throw_file_error(folder, "open");
        const struct stat found = status_of(made, folder);
        if (found.st_uid != geteuid()) // another user's folder took its place
            refuse_owner(folder, folder, found.st_uid, geteuid(), "this program runs as");
        set_rights(made, folder, readers ? 0750 : 0700, readers);
    } else if (errno != EEXIST) {
        throw_file_error(folder, "create");
    }
    (void)private_folder(folder, /*writing=*/true);
}

void private_folder::make_within(const fs::path& path) {
    std::optional<gid_t> readers;
    try {
        readers = private_folder(folder_of(without_slash(path)), /*writing=*/true).readers();
    } catch (const access_error&) { // not a state's folder
    }
    make(path, readers);
}

file_descriptor private_folder::open(const std::string& name, file_use how,
                                     group_access group) const {
    const fs::path file = path_ / name;
    if (needs_owner(how) && !is_ours())
        refuse_owner(path_, path_, owner_, geteuid(), "this program runs as");
    if (how == file_use::replace && ::unlinkat(descriptor_.number(), name.c_str(), 0) != 0 &&
        errno != ENOENT)
        throw_file_error(file, "replace");
    if (how == file_use::create || how == file_use::replace) {
        file_descriptor made = make_file(name, group);
        if (made.number() < 0) throw_file_error(file, "create");
        return made;
    }
    // Non-blocking: a pipe of this name would wait for a writer.
    const int flags =
        (how == file_use::read ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    file_descriptor opened(::openat(descriptor_.number(), name.c_str(), flags));
    if (opened.number() < 0 && errno == ENOENT && how == file_use::obtain) {
        file_descriptor made = make_file(name, group);
        if (made.number() >= 0) return made;
        if (errno != EEXIST) throw_file_error(file, "create");
        return open(name, file_use::write, group); // another process created it first
    }
    if (opened.number() < 0 && errno == ELOOP)
        throw access_error(file.string() + ": is a symbolic link, and no file of a state may be "
                                           "one; put the file itself in its place");
    if (opened.number() < 0 && errno == EISDIR) refuse_kind(file);
    if (opened.number() < 0) throw_file_error(file, "open");
    check(file, status_of(opened, file), group);
    return opened;
}

void private_folder::adopt(const fs::path& made) const {
    const file_descriptor opened(
        ::open(made.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (opened.number() < 0) throw_file_error(made, "open");
    const struct stat found = status_of(opened, made);
    if (found.st_uid != owner_) refuse_owner(made, made, found.st_uid, owner_, "its folder to");
    const mode_t of_owner = S_ISDIR(found.st_mode) ? 0700 : 0600;
    set_rights(opened, made, of_owner | (readers_ ? (of_owner >> 3) & for_group : 0), readers_);
}

bool private_folder::is_ours() const noexcept {
    return owner_ == geteuid();
}

void private_folder::require_same_owner(const private_folder& other) const {
    if (other.owner_ == owner_) return;
    refuse_owner(other.path_, other.path_, other.owner_, owner_, path_.string() + " to");
}

/// Returns a negative number, with errno set, when the file cannot be created.
file_descriptor private_folder::make_file(const std::string& name, group_access group) const {
    file_descriptor made(::openat(descriptor_.number(), name.c_str(),
                                  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (made.number() < 0) return made;
    const mode_t of_group = group == group_access::write ? 0060 : 0040;
    try {
        set_rights(made, path_ / name, 0600 | (readers_ ? of_group : 0), readers_);
    } catch (...) {
        ::unlinkat(descriptor_.number(), name.c_str(), 0);
        throw;
    }
    return made;
}

void private_folder::check(const fs::path& file, const struct stat& found,
                           group_access group) const {
    if (!S_ISREG(found.st_mode)) refuse_kind(file);
    if (found.st_uid != owner_) refuse_owner(file, file, found.st_uid, owner_, "its folder to");
    const mode_t of_group =
        !readers_ ? 0 : (group == group_access::write ? S_IRGRP | S_IWGRP : S_IRGRP);
    const mode_t more = found.st_mode & 0077 & ~of_group;
    if (more != 0)
        refuse_mode(file, found.st_mode, "others read or change it",
                    of_group == 0         ? "chmod go="
                    : of_group == S_IRGRP ? "chmod 640"
                                          : "chmod 660");
    if ((found.st_mode & 0070) != 0 && found.st_gid != *readers_)
        throw access_error(file.string() + ": may be read by group " +
                           std::to_string(found.st_gid) + ", its folder by group " +
                           std::to_string(*readers_) + "; `chgrp " + std::to_string(*readers_) +
                           " -- " + quoted(file) + "` if nobody meddled with it");
}

file_descriptor open_private(const fs::path& file, file_use how, group_access group) {
    return private_folder(folder_of(file), needs_owner(how))
        .open(file.filename().string(), how, group);
}

gid_t group_called(const std::string& name) {
    constexpr auto none = static_cast<gid_t>(-1); // chown leaves the group unchanged
    if (const auto number = decimal_in(name); number && *number < none)
        return static_cast<gid_t>(*number);
    std::vector<char> buffer(std::size_t{1} << 20); // a group may have many members
    group entry{};
    group* found = nullptr;
    if (getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 && found)
        return found->gr_gid;
    throw usage_error("there is no group \"" + name + "\" on this machine; check its name");
}

} // namespace chainbase
