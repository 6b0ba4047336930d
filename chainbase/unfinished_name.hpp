#pragma once

#include <pool_allocator/process_of_origin.hpp>

#include <filesystem>

namespace chainbase {

/// Throws usage_error when something has this name, a link that leads nowhere included.
void require_free(const std::filesystem::path& path);

/// What becomes `path` is called so until it is complete: `<path>.unfinished`.
[[nodiscard]] std::filesystem::path unfinished_path(std::filesystem::path path);

/// The one way to make a file or folder that nobody sees by half: it is made beside its place under
/// the name `NAME.unfinished`, and renamed to NAME when all of it is on storage. So NAME is there
/// whole or not at all, whenever a process dies.
///
///     unfinished_name name(target);      nothing is touched yet
///     ...                                the caller decides about what an earlier call left there
///     name.own();                        from now on an exception removes what has the name
///     ...  make name.path(), sync it  ...
///     name.finish();
///
/// A file or folder that other processes could be making at the same time needs a lock of the
/// caller's, held until this object is gone: declare the lock before it. Not thread-safe.
class unfinished_name {
public:
    /// What becomes of something that has the unfinished name already.
    enum class leftover {
        is_kept,    ///< the caller looks at it
        is_removed, ///< nobody else can be making it; what has the name is this object's at once
    };

    /// A `/` at the end of `target` is ignored. Throws usage_error when something has that name.
    explicit unfinished_name(std::filesystem::path target, leftover what = leftover::is_kept);
    unfinished_name(const unfinished_name&) = delete;
    unfinished_name& operator=(const unfinished_name&) = delete;
    /// As discard(), in the process that made it.
    ~unfinished_name();

    [[nodiscard]] const std::filesystem::path& target() const noexcept { return target_; }
    /// Where to make it.
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

    /// Says that what has the unfinished name is this object's.
    void own() noexcept { is_owned_ = true; }
    /// Whether it is, and was neither finished nor discarded.
    [[nodiscard]] bool is_owned() const noexcept { return is_owned_; }

    /// Gives what has the unfinished name its own, and waits until that is on storage. Requires
    /// that its content is. Throws usage_error when something has that name by now, which stays as
    /// it is; io_error, out_of_space_error.
    void finish();
    /// The same for a part of it; the rest is removed with this object.
    void finish_with(const std::filesystem::path& part);

    /// Removes what has the unfinished name, if it is this object's, as far as that is possible.
    void discard() noexcept;

private:
    process_of_origin origin_;
    std::filesystem::path target_;
    std::filesystem::path path_;
    bool is_owned_;
};

} // namespace chainbase
