#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase {

/// The location of a state's segment: in the state folder, or in a memory folder that is tied to
/// it.
///
///     STATE/segment/                       without segment.json
///
///     STATE/segment.json                   the home of the segment, identity of the state
///     MEMORY/chainbase-<random>/           its home, a private folder with the readers of STATE
///         state.json                       identity, and the identities of STATE and segment.json
///         segment/
///
/// STATE and segment.json are identified by device, inode and time of birth, which nobody can set,
/// and segment.json also by its modification time, which each writer updates when it opens and
/// closes the state. So of two copies of a state folder only one has the segment, even if a copy's
/// files are hard links, and a folder put back from an older copy does not have it. New links,
/// permissions and owners of the files, and new names of the folder, do not matter. A folder that
/// somebody else planted under the name in MEMORY has another owner.
///
/// Where the file system has no times of birth, the change time of segment.json replaces both:
/// there a link or chmod unties it, too.
///
/// A segment that is not tied to the state is never attached, changed or removed. A new home has a
/// new name.
///
/// Invariants:
///  1. segment.json names a home whose segment is complete: it is renamed into place when all files
///     exist.
///  2. Before that, and until a replaced home is removed, segment.json.new names it, so the next
///     writer finds and removes what a dead process left.
class segment_place {
public:
    using identity = std::array<std::byte, 16>;

    /// Reads the place of the state in the folder `state`. Throws damaged_error, access_error (the
    /// home is ours but accessible to others), io_error.
    explicit segment_place(std::filesystem::path state);

    /// Prepares a place for a new segment: in `memory`, or in the state folder if that is empty.
    /// Requires the writer's lock. Throws usage_error when `memory` is no folder, io_error,
    /// out_of_space_error.
    [[nodiscard]] static segment_place prepare(const std::filesystem::path& state,
                                               const std::filesystem::path& memory);
    /// Renames the complete `segment.new` of a prepared place to folder(), which does not exist;
    /// from then on it is the state's. Throws io_error, out_of_space_error.
    void settle(const identity& of_state);
    /// Removes a place that was not settled, or that another replaced. Requires the writer's lock.
    static void discard_unsettled(const std::filesystem::path& state);
    /// Completes a settle() that a kill interrupted. Requires the writer's lock.
    void confirm();
    /// Updates the time of segment.json, so that earlier copies of it no longer have the segment.
    /// Does nothing where it cannot be written. Requires the writer's lock.
    void renew() noexcept;

    /// A home in a memory folder that no state has.
    struct orphan {
        std::filesystem::path home;
        std::filesystem::path state; ///< the folder that it was made for; empty if it does not say
        std::uint64_t bytes = 0;     ///< that it takes
    };
    /// Those of this user in `memory`; none if it cannot be read. A state that was renamed or is on
    /// a disk that is not mounted is missing at the place that its home names.
    [[nodiscard]] static std::vector<orphan> orphans(const std::filesystem::path& memory);

    /// The folder that holds the segment's.
    [[nodiscard]] const std::filesystem::path& home() const noexcept { return home_; }
    /// The segment's folder, which need not exist.
    [[nodiscard]] std::filesystem::path folder() const { return home_ / "segment"; }
    [[nodiscard]] bool is_in_memory() const noexcept { return home_ != state_; }
    /// Whether its files are lost when the machine stops.
    [[nodiscard]] bool is_lost_with_the_machine() const;
    /// Why folder() does not belong to this state; empty if it does, or if it does not exist.
    [[nodiscard]] const std::string& why_foreign() const noexcept { return why_foreign_; }
    /// Throws damaged_error when the segment there belongs to another state.
    void require_identity(const identity& of_segment) const;

private:
    segment_place(std::filesystem::path state, std::filesystem::path home)
        : state_(std::move(state)), home_(std::move(home)) {}

    [[nodiscard]] std::filesystem::path fresh_folder() const { return home_ / "segment.new"; }
    [[nodiscard]] bool owns_home() const { return is_in_memory() && why_foreign_.empty(); }
    void find_tie();
    void write_tie();
    void settle_in_state_folder(const segment_place& former);
    void settle_in_home(const segment_place& former, const identity& of_state);
    void name_segment() const;
    void write_settled(const segment_place& former) const;
    void name_home(const segment_place& former) const;
    void forget_home(const segment_place& former) const;

    std::filesystem::path state_;
    std::filesystem::path home_;
    std::string identity_; ///< hexadecimal; empty in the state folder
    std::string why_foreign_;
    bool is_confirmed_ = true;
};

} // namespace chainbase

namespace chainbase::detail {

/// The name of the old segment while it is replaced, on a file system that cannot exchange names
/// (bulk_load/segment_replacement.hpp).
[[nodiscard]] inline std::filesystem::path former_segment(const segment_place& place) {
    return place.home() / "segment.former";
}

/// Whether a replacement was killed halfway: the old segment is set aside, and none is in its
/// place.
[[nodiscard]] inline bool is_set_aside(const segment_place& place) {
    return place.why_foreign().empty() && !std::filesystem::exists(place.folder()) &&
           std::filesystem::exists(former_segment(place));
}

} // namespace chainbase::detail
