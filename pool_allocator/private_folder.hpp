#pragma once

#include <pool_allocator/file_descriptor.hpp>

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

struct stat;

namespace chainbase {

/// What a file of a private folder is opened for.
enum class file_use {
    read,
    write,   ///< and read
    create,  ///< a new one, to be written; io_error if something has its name
    replace, ///< a new one in place of whatever has its name
    obtain,  ///< the one that is there, or a new one, to be written
    share,   ///< the one that is there, to be written by all who may look
};

/// What the group of a folder that lets one in may do with a file in it.
enum class group_access { read, write };

/// A folder of a state: nobody but its owner writes in it or to its files, and nobody reads them
/// but the owner and, if the folder says so, one group.
///
/// The folder's own mode is what says who may look: 0700, or 0750 for its group. Its files have
/// 0600 or 0640, or 0660 where the group writes, too. The umask plays no part.
///
/// Who writes must be the owner; root, too, since files that it made would shut the owner out. Who
/// reads trusts the owner of the folder that it named: all files must be his.
///
/// Everything is opened first and examined then, never the other way round; links are not followed.
/// Immutable, so safe to use in several threads.
///
/// All calls throw access_error saying what was found and which command puts it right, when a
/// folder or file is a link, belongs to someone else, or is open to more than what is said above;
/// and io_error, out_of_space_error.
class private_folder {
public:
    /// Opens the one at `path`. Writing asks for this process's user as its owner.
    private_folder(std::filesystem::path path, bool writing);

    /// Makes the folder `path` if it is not there, for its owner and the group `readers`; its
    /// parent must be there. One that is there must be the caller's, and stays as it is.
    static void make(const std::filesystem::path& path, std::optional<gid_t> readers);
    /// The same for those who may look at its parent, if that is a private folder of ours; else for
    /// the owner alone.
    static void make_within(const std::filesystem::path& path);

    /// Opens a regular file in it.
    [[nodiscard]] file_descriptor open(const std::string& name, file_use how,
                                       group_access group = group_access::read) const;

    /// Gives what a library made for us in it, a file or a folder at any depth, the rights that
    /// open() and make_within() would have given.
    void adopt(const std::filesystem::path& made) const;

    /// Whether it belongs to this process's user.
    [[nodiscard]] bool is_ours() const noexcept;
    /// Of two folders of one state. Throws access_error when the other one is someone else's.
    void require_same_owner(const private_folder& other) const;

    /// The group that may look, if there is one.
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

/// The number of a group that is named, or numbered in decimal digits. Throws usage_error when
/// there is none of this name, and none can have this number.
[[nodiscard]] gid_t group_called(const std::string& name);

} // namespace chainbase
