#pragma once

#include <chainbase/checkpoint/outcome.hpp>
#include <chainbase/checkpoint/publication.hpp>
#include <chainbase/offline/check/report.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::check {

/// The result of reading a published checkpoint.
enum class standing {
    whole,
    damaged,
    replaced, ///< by a newer one while it was read, so nothing is known of it
    refused,  ///< its file has a wrong owner or mode, so no restore uses it
};

struct checked_publication {
    std::uint64_t generation = 0;
    std::int64_t revision = 0;              ///< that restoring it gives, or a lower one if it was
    std::int64_t irreversible_revision = 0; ///< made in an unfinished session
    std::int64_t time = 0;                  ///< Unix seconds
    std::uint64_t pages = 0;                ///< that were read, leaves of the table included
    check::standing standing = standing::whole;
};

/// Both checkpoints of a state.
struct checked_checkpoints {
    std::vector<checked_publication> publications; ///< the newest first
    std::uint64_t blocks = 0; ///< of the redo log, that a restore puts over the newest one
    part_report report;

    /// The one that a restore would use: the newest complete one; null if there is none.
    [[nodiscard]] const checked_publication* restorable() const noexcept;
};

/// Reads every page of the checkpoints of the state in the folder `state`, and every block of the
/// redo log that follows the newest one, and compares it with its sum. Takes no lock and changes
/// nothing: beside a writer it begins again when both were replaced meanwhile, up to five times.
/// `tell` is called, if not empty, in this thread with the pages done and the pages in all.
/// Throws format_error when there is none, or one of another format, io_error.
[[nodiscard]] checked_checkpoints check_checkpoints(disk& on, const std::filesystem::path& state,
                                                    const checkpoint::progress& tell = {});

/// Whether the segment has the identity of its newest checkpoint, if there are both and both can be
/// read.
void check_identity(disk& on, const std::filesystem::path& state, part_report& to);

} // namespace chainbase::check
