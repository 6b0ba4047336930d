#pragma once

#include <pool_allocator/base/process_of_origin.hpp>

#include <filesystem>

namespace chainbase {

/// Throws usage_error when the name is taken, also by a dangling link.
void require_free(const std::filesystem::path& path);

/// The name of `path` until it is complete: `<path>.unfinished`.
[[nodiscard]] std::filesystem::path unfinished_path(std::filesystem::path path);

/// Creates a file or folder atomically: it is made beside its place under the name
/// `NAME.unfinished`, and renamed to NAME when all of it is on storage. So NAME exists complete or
/// not at all, whenever a process dies.
///
///     unfinished_name name(target);      nothing is touched yet
///     ...                                the caller decides about what an earlier call left there
///     name.own();                        from now on an exception removes what has the name
///     ...  make name.path(), sync it  ...
///     name.finish();
///
/// If other processes could be making the same file or folder, the caller must hold a lock until
/// this object is destroyed: declare the lock before it. Not thread-safe.
class unfinished_name {
public:
    /// How to treat an existing file or folder with the unfinished name.
    enum class leftover {
        is_kept,    ///< the caller decides about it
        is_removed, ///< nobody else can be making it; whatever has the name belongs to this object
                    ///< at once
    };

    /// A `/` at the end of `target` is ignored. Throws usage_error when that name is taken.
    explicit unfinished_name(std::filesystem::path target, leftover what = leftover::is_kept);
    unfinished_name(const unfinished_name&) = delete;
    unfinished_name& operator=(const unfinished_name&) = delete;
    /// As discard(), in the process that made it.
    ~unfinished_name();

    [[nodiscard]] const std::filesystem::path& target() const noexcept { return target_; }
    /// The unfinished name, where to make it.
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    /// Declares that whatever has the unfinished name belongs to this object.
    void own() noexcept { is_owned_ = true; }
    /// Whether own() holds, and it was neither finished nor discarded.
    [[nodiscard]] bool is_owned() const noexcept { return is_owned_; }

    /// Renames it to target() and waits until the name is on storage. Requires that its content is
    /// on storage. Throws usage_error when the name is taken by now, changing nothing; io_error,
    /// out_of_space_error.
    void finish();
    /// As finish(), for a part of it; the rest is removed with this object.
    void finish_with(const std::filesystem::path& part);

    /// Removes whatever has the unfinished name, if it belongs to this object, as far as possible.
    void discard() noexcept;

private:
    process_of_origin origin_;
    std::filesystem::path target_;
    std::filesystem::path path_;
    bool is_owned_;
};

} // namespace chainbase
