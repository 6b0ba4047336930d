#pragma once

#include <pool_allocator/base/file_descriptor.hpp>

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

struct stat;

namespace chainbase {

/// What a file of a private folder is opened for.
enum class file_use {
    read,
    write,   ///< to write and read
    create,  ///< a new file, to write; io_error if the name is taken
    replace, ///< a new file in place of whatever has its name
    obtain,  ///< the existing file or a new one, to write
    share,   ///< the existing file, written by all who may read the folder
};

/// What the readers' group of a folder may do with a file in it.
enum class group_access { read, write };

/// A folder of a state: nobody but its owner writes in it or to its files, and nobody reads them
/// but the owner and, if the folder says so, one group.
///
/// The folder's mode says who may read: 0700, or 0750 for its group. Its files have mode 0600 or
/// 0640, or 0660 where the group writes, too. The umask plays no part.
///
/// A writer must be the owner; that includes root, since files made by root would lock the owner
/// out. A reader trusts the owner of the folder that it named: all files must belong to that owner.
///
/// Everything is opened first and then checked, never the other way round; links are not followed.
/// Immutable, so safe to use in several threads.
///
/// All calls throw access_error, naming what was found and the command that corrects it, when a
/// folder or file is a link, belongs to another user, or is more accessible than stated above; and
/// io_error, out_of_space_error.
class private_folder {
public:
    /// Opens the folder at `path`. `writing` requires that this process's user owns it.
    private_folder(std::filesystem::path path, bool writing);

    /// Creates the folder `path` if it does not exist, for its owner and the group `readers`; its
    /// parent must exist. An existing folder must belong to the caller and is not changed.
    static void make(const std::filesystem::path& path, std::optional<gid_t> readers);
    /// As make(), with the readers of the parent if that is a private folder of this user; else for
    /// the owner alone.
    static void make_within(const std::filesystem::path& path);

    /// Opens a regular file in it.
    [[nodiscard]] file_descriptor open(const std::string& name, file_use how,
                                       group_access group = group_access::read) const;

    /// Gives a file or folder that a library created in it, at any depth, the permissions that
    /// open() and make_within() would have given.
    void adopt(const std::filesystem::path& made) const;

    /// Whether it belongs to this process's user.
    [[nodiscard]] bool is_ours() const noexcept;
    /// For two folders of one state. Throws access_error when they have different owners.
    void require_same_owner(const private_folder& other) const;

    /// The group that may read, if there is one.
    [[nodiscard]] std::optional<gid_t> readers() const noexcept { return readers_; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    [[nodiscard]] file_descriptor make_file(const std::string& name, group_access group) const;
    void check(const std::filesystem::path& file, const struct stat& found,
               group_access group) const;

    std::filesystem::path path_;
    file_descriptor descriptor_;
    uid_t owner_ = 0;
    std::optional<gid_t> readers_;
};

/// Opens `file` in the private folder it lies in. Throws as private_folder does.
[[nodiscard]] file_descriptor open_private(const std::filesystem::path& file, file_use how,
                                           group_access group = group_access::read);

/// The number of a group given by name or decimal number. Throws usage_error when no group has this
/// name and the text is not a valid group number.
[[nodiscard]] gid_t group_called(const std::string& name);

} // namespace chainbase
