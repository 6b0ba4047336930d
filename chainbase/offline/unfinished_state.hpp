#pragma once

#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/unfinished_name.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace chainbase {

/// A state being made in `NAME.unfinished/state`; it is renamed to NAME when complete, so NAME is a
/// whole state or does not exist. A file beside it marks the folder, so that the next call removes
/// the leftover of a killed call, and nothing else; the maker holds a lock on that file.
class unfinished_state {
public:
    /// What becomes of the state that a killed call left.
    enum class leftover {
        is_removed,
        is_kept, ///< the caller decides: begin_anew() or go_on() is the next call
    };

    /// For its owner and the group `readers`, if not empty. Throws usage_error when the name
    /// `target` exists, or the temporary name exists and is no leftover of such a call;
    /// locked_error while another process is making it; io_error.
    explicit unfinished_state(const std::filesystem::path& target, const std::string& readers = "",
                              leftover what = leftover::is_removed);
    ~unfinished_state();
    unfinished_state(const unfinished_state&) = delete;
    unfinished_state& operator=(const unfinished_state&) = delete;

    /// A folder to make the state in: empty, unless the caller goes on with a leftover.
    [[nodiscard]] std::filesystem::path path() const { return name_.path() / "state"; }
    /// For a file of the caller beside that, which is removed when the state is finished.
    [[nodiscard]] std::filesystem::path notes() const { return name_.path() / "notes"; }

    /// Removes what is in path(), and the notes. Throws io_error.
    void begin_anew();
    /// Keeps of the leftover what its checkpoint and its archive have: the segment, which a kill
    /// may have left in between, is removed. It stays as with
    /// keep().
    void go_on();
    /// Whether the state, unless it is finished, stays as a leftover for the next call, like after
    /// a kill; at first it does not.
    void keep(bool stays = true) noexcept { stays_ = stays; }
    [[nodiscard]] bool is_kept() const noexcept { return stays_; }

    /// Renames it. Requires that its content is synced. Throws usage_error when the name exists by
    /// now, io_error.
    void finish();

private:
    void require_ours() const;
    void take_lock();
    void remove_segment() const noexcept;

    std::optional<file_lock> lock_;
    unfinished_name name_;
    std::string readers_;
    bool stays_ = false;
};

} // namespace chainbase
