#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>

namespace chainbase {

/// Where the segment of a state is: in the state folder, or in a folder of memory that is tied to
/// it.
///
///     STATE/segment/                       nothing else: it is here
///
///     STATE/segment.json                   the home of the segment, identity of the state
///     MEMORY/chainbase-<random>/           its home, private, for those who may look at STATE
///         state.json                       identity, and which folder and file those two are
///         segment/
///
/// STATE and segment.json are known by device, inode and time of birth, which nobody can set, and
/// segment.json by the time of its last writing, too, which each writer moves on when it opens and
/// closes the state. So of two copies of a state folder one has the segment, also if a copy's files
/// are hard links, and none that was put back from an older copy has. New links, rights and owners
/// of the files, and new names of the folder, change nothing of that. What was planted under the
/// name in MEMORY has another owner.
///
/// Where the file system has no times of birth, the time of the last change of segment.json stands
/// for both: there it is untied by a link and by chmod, too.
///
/// A segment that is not tied to the state is never attached, changed or removed. A new home has a
/// new name.
///
/// Invariants:
///  1. segment.json names a home whose segment is whole: it comes by rename when all is there.
///  2. Before that, segment.json.new names it; so what a process that died was making is known, and
///     removed by the next writer.
class segment_place {
public:
    using identity = std::array<std::byte, 16>;

    /// Of the state in the folder `state`, as that says. Throws damaged_error, access_error (of a
    /// home that is ours, but open to others), io_error.
    explicit segment_place(std::filesystem::path state);

    /// Prepares a place for a segment that is to be made: in `memory`, or in the state folder if
    /// that is empty. Requires the writer's lock. Throws usage_error when `memory` is no folder,
    /// io_error, out_of_space_error.
    [[nodiscard]] static segment_place prepare(const std::filesystem::path& state,
                                               const std::filesystem::path& memory);
    /// Says that the segment of a prepared place is whole; from then on it is the state's. Throws
    /// io_error, out_of_space_error.
    void settle(const identity& of_state);
    /// Removes what was prepared for a state and not settled. Requires the writer's lock.
    static void discard_unsettled(const std::filesystem::path& state);
    /// Ends a settling that a kill interrupted. Requires the writer's lock.
    void confirm();
    /// Moves the time of segment.json on, so that copies made so far are not the state any more.
    /// Does nothing where that cannot be written. Requires the writer's lock.
    void renew() noexcept;

    /// The folder that holds the segment's.
    [[nodiscard]] const std::filesystem::path& home() const noexcept { return home_; }
    /// The segment's, whether it is there or not.
    [[nodiscard]] std::filesystem::path folder() const { return home_ / "segment"; }
    [[nodiscard]] bool is_in_memory() const noexcept { return home_ != state_; }
    /// Whether files there are lost when the machine stops.
    [[nodiscard]] bool is_lost_with_the_machine() const;
    /// Why what is in folder() is not this state's; empty if it is, or if nothing is there.
    [[nodiscard]] const std::string& why_foreign() const noexcept { return why_foreign_; }
    /// Throws damaged_error when the segment there is of another state.
    void require_identity(const identity& of_segment) const;

private:
    segment_place(std::filesystem::path state, std::filesystem::path home)
        : state_(std::move(state)), home_(std::move(home)) {}

    void find_tie();
    void write_tie();

    std::filesystem::path state_;
    std::filesystem::path home_;
    std::string identity_; ///< hexadecimal; empty in the state folder
    std::string why_foreign_;
    bool is_confirmed_ = true;
};

} // namespace chainbase

namespace chainbase::detail {

/// Where a segment waits while another one takes its place, on a file system that cannot exchange
/// names (bulk_load/segment_replacement.hpp).
[[nodiscard]] inline std::filesystem::path former_segment(const segment_place& place) {
    return place.home() / "segment.former";
}

/// Whether who replaced a segment was killed in between: it still waits, and none is in its place.
[[nodiscard]] inline bool is_set_aside(const segment_place& place) {
    return place.why_foreign().empty() && !std::filesystem::exists(place.folder()) &&
           std::filesystem::exists(former_segment(place));
}

} // namespace chainbase::detail
