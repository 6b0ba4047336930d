#pragma once

#include <chainbase/files.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::archive::detail {

/// A folder that is filled under another name, `NAME.unfinished` beside NAME, and gets its own name
/// when all that is in it is on storage: so NAME is there whole or not at all, whenever a process
/// dies. In it is a file `lock`, which says what the folder is, so that the next call knows the
/// remains of one that was killed, and only takes those away. Who fills it holds the lock.
///
/// Not thread-safe.
class unfinished_folder {
public:
    /// Throws usage_error when something has the name `target`, when the folder that it is to lie
    /// in is not there, and when what has the other name is not what a call like this one left
    /// (nothing in it is touched); locked_error while another process fills it; io_error,
    /// out_of_space_error.
    unfinished_folder(std::filesystem::path target, const std::string& readers_group);
    unfinished_folder(const unfinished_folder&) = delete;
    unfinished_folder& operator=(const unfinished_folder&) = delete;
    /// What is not finished goes, as far as it can be removed.
    ~unfinished_folder();

    /// Under its other name.
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    /// Gives it its own name. Requires that all that is in it is on storage. Throws usage_error
    /// when something has that name by now, io_error.
    void finish();

    /// Whether a folder says that it is one, finished or not.
    [[nodiscard]] static bool is_marked(const std::filesystem::path& folder);

private:
    void require_free_target() const;
    void require_ours() const;
    void take_lock();
    void remove_content() const;

    std::filesystem::path target_;
    std::filesystem::path path_;
    std::optional<file_lock> lock_;
    bool is_finished_ = false;
};

} // namespace chainbase::archive::detail
