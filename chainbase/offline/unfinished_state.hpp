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
    /// For its owner and the group `readers`, if not empty. Throws usage_error when the name
    /// `target` exists, or the temporary name exists and is no leftover of such a call;
    /// locked_error while another process is making it; io_error.
    explicit unfinished_state(const std::filesystem::path& target, const std::string& readers = "");
    ~unfinished_state() { remove_home(); }
    unfinished_state(const unfinished_state&) = delete;
    unfinished_state& operator=(const unfinished_state&) = delete;

    /// An empty folder to make the state in.
    [[nodiscard]] std::filesystem::path path() const { return name_.path() / "state"; }
    /// Renames it. Requires that its content is synced. Throws usage_error when the name exists by
    /// now, io_error.
    void finish();

private:
    void require_ours() const;
    void take_lock();
    void remove_home() const noexcept;

    std::optional<file_lock> lock_;
    unfinished_name name_;
};

} // namespace chainbase
