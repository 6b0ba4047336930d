#pragma once

#include <chainbase/offline/log_contents.hpp>
#include <chainbase/segment/catalogue.hpp>
#include <tools/inspect/memory/state_report.hpp>
#include <tools/inspect/state/log_image.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// What an opening for writing would undo if the writer died now, or what it will.
struct rolled_back {
    bool operation = false;       ///< the unfinished one
    std::uint64_t sessions = 0;   ///< not pushed, and those above them
    revision_number revision = 0; ///< the state's revision afterwards
};

/// The changes of one type, or of the shared buffers, in a part of the log.
struct owned_changes {
    std::string owner; ///< the type's name; "buffers"; "window 31" if the catalogue lacks it
    bool is_type = false;
    std::uint64_t records = 0; ///< of the objects, the table of their ids and the hashed keys
    std::uint64_t bytes = 0;
    std::uint64_t objects = 0; ///< the sum of the next members
    std::uint64_t created = 0;
    std::uint64_t modified = 0;
    std::uint64_t removed = 0;
    std::uint64_t created_and_removed = 0;
};

/// What can be undone, and its cost.
///
/// Invariant: if `is_complete`, the bytes of `sessions` and of `operation` are heading.bytes_in_use
/// while there is a session.
struct undo_report {
    std::filesystem::path state;
    std::filesystem::path segment; ///< the folder of its files
    inspect::condition condition = condition::closed;
    std::uint32_t writer = 0; ///< the current or last writer's pid; 0: unknown
    log_heading heading;
    std::uint64_t file_bytes = 0;         ///< of the log
    bool is_consistent = false;           ///< the contents were read at one moment
    bool is_complete = false;             ///< all sessions were read
    std::string why_incomplete;           ///< why not; empty if complete
    std::vector<logged_session> sessions; ///< oldest first; if incomplete, the newest ones
    logged_part operation;                ///< in progress; 0 bytes if none is
    rolled_back taken_back;
    catalogue types;          ///< the types of the windows in the contents
    std::string why_no_types; ///< why the catalogue is unreadable

    /// The type of a window; null for buffers, and for windows without a type.
    [[nodiscard]] const type_schema* type_of(std::uint32_t window) const noexcept;
    /// The value of owned_changes::owner for it.
    [[nodiscard]] std::string owner_of(std::uint32_t window) const;
    /// By owner, types first; their sum is the part's total without marks and unused bytes.
    [[nodiscard]] std::vector<owned_changes> changes_in(const logged_part& part) const;
};

/// How much of a log to read.
enum class undo_detail {
    heading,  ///< its header words only, which takes no time
    contents, ///< and every session
};

/// Reads the log of a state, running or not, and changes nothing. Beside a writer it reads again,
/// for about a second, until nothing changed during the read, and then once more under the read
/// lock, which it holds for no more than 10 ms (and a chunk). Throws format_error without a state,
/// unclean_error when the segment is lost, damaged_error, access_error, limit_error, io_error.
[[nodiscard]] undo_report read_undo(const std::filesystem::path& state,
                                    undo_detail how = undo_detail::contents);

/// The report as text tables, and as one JSON object; json.md lists its members.
[[nodiscard]] std::string as_text(const undo_report& report);
[[nodiscard]] std::string as_json(const undo_report& report);

} // namespace chainbase::inspect
