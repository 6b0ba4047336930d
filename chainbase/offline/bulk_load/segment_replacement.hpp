#pragma once

#include <chainbase/offline/bulk_load/new_state.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/process_of_origin.hpp>

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace chainbase::bulk_load {

/// Puts a segment that was made anew in the place of a state's own, in one step: whenever a process
/// or the machine stops, the state has the one or the other.
///
/// While the new one is made the state's own lock is not held, only one that keeps another of these
/// out. If another process opens the state for writing
/// meanwhile, replace() refuses, and nothing has changed.
class segment_replacement {
public:
    /// Of the state in the folder `state`. Throws locked_error when a process has it open for
    /// writing or makes another replacement, damaged_error, access_error, io_error.
    explicit segment_replacement(const std::filesystem::path& state);
    segment_replacement(const segment_replacement&) = delete;
    segment_replacement& operator=(const segment_replacement&) = delete;
    /// Removes a new segment that was not put in place.
    ~segment_replacement();

    /// Where the new state is to be made, and closed: in the file system of the segment.
    [[nodiscard]] std::filesystem::path folder() const { return scratch_ / "state"; }
    /// Those of the state; the usual ones if its header is damaged.
    [[nodiscard]] const new_state::limits& limits() const noexcept { return limits_; }

    /// Gives the new segment the identity of the state and puts it in place. What was there is
    /// removed, or becomes the folder `keep_as`, in the same file system, if that is not empty.
    /// Throws locked_error when the state was opened for writing since, or is; damaged_error when
    /// the identity of the state is nowhere to be found, io_error.
    void replace(const std::filesystem::path& keep_as = {});

private:
    [[nodiscard]] std::string content_of(const char* file) const;
    [[nodiscard]] std::array<std::byte, 16> identity() const;
    void recover() const;
    void take_limits();
    void put_in_place(const std::filesystem::path& keep_as) const;

    process_of_origin origin_;
    std::filesystem::path state_;
    std::filesystem::path home_;                ///< that holds the segment's folder
    std::filesystem::path scratch_;             ///< the folder of the new state
    std::optional<file_lock> replacement_lock_; ///< keeps other replacements out
    new_state::limits limits_;
    std::string header_; ///< of the segment, when this began
    std::string log_;    ///< what its log said then
};

} // namespace chainbase::bulk_load
