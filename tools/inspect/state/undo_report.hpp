#pragma once

#include <chainbase/catalogue.hpp>
#include <tools/inspect/memory/state_report.hpp>
#include <tools/inspect/state/log_image.hpp>
#include <undo/log_contents.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// What an opening for writing would take back if the writer died now, or did.
struct rolled_back {
    bool operation = false;       ///< the one under way
    std::uint64_t sessions = 0;   ///< that were not pushed, and those above them
    revision_number revision = 0; ///< of the state afterwards
};

/// What a part of the log has of one type, or of the buffers that all types share.
struct owned_changes {
    std::string owner; ///< the type's name; "buffers"; "window 31" of what the catalogue lacks
    bool is_type = false;
    std::uint64_t records = 0; ///< of the objects, the table of their ids and the hashed keys
    std::uint64_t bytes = 0;
    std::uint64_t objects = 0; ///< the sum of what follows
    std::uint64_t created = 0;
    std::uint64_t modified = 0;
    std::uint64_t removed = 0;
    std::uint64_t created_and_removed = 0;
};

/// What can be undone, and what that costs.
///
/// Invariant: if `is_complete`, the bytes of `sessions` and of `operation` are heading.bytes_in_use
/// while there is a session.
struct undo_report {
    std::filesystem::path state;
    std::filesystem::path segment; ///< the folder of its files
    inspect::condition condition = condition::closed;
    std::uint32_t writer = 0; ///< the process that writes, or wrote last; 0: not known
    log_heading heading;
    std::uint64_t file_bytes = 0;         ///< of the log
    bool is_consistent = false;           ///< the contents were read, at one moment
    bool is_complete = false;             ///< of all sessions
    std::string why_incomplete;           ///< in words; empty if it is complete
    std::vector<logged_session> sessions; ///< the oldest first; if not all, the newest ones
    logged_part operation;                ///< under way; of no bytes if none is
    rolled_back taken_back;
    catalogue types;          ///< whose windows the contents name
    std::string why_no_types; ///< the catalogue cannot be read

    /// The type that a window belongs to; null for buffers, and for what no type has.
    [[nodiscard]] const type_schema* type_of(std::uint32_t window) const noexcept;
    /// What owned_changes::owner says of it.
    [[nodiscard]] std::string owner_of(std::uint32_t window) const;
    /// By owner, types first; they sum to what the part has but for marks and unused bytes.
    [[nodiscard]] std::vector<owned_changes> changes_in(const logged_part& part) const;
};

/// How much of a log is to be read.
enum class undo_detail {
    heading,  ///< its first words only, which takes no time
    contents, ///< and every session
};

/// Looks at the log of a state, running or not, and changes nothing. Beside a writer it reads
/// again, for about a second, until nothing changed while it read, and then once more under the
/// read lock, which it holds for no more than 10 ms (and a chunk). Throws format_error when no
/// state is there, unclean_error when the segment is lost, damaged_error, access_error,
/// limit_error, io_error.
[[nodiscard]] undo_report read_undo(const std::filesystem::path& state,
                                    undo_detail how = undo_detail::contents);

/// The report as tables for people, and as one JSON object; json.md lists its members.
[[nodiscard]] std::string as_text(const undo_report& report);
[[nodiscard]] std::string as_json(const undo_report& report);

} // namespace chainbase::inspect
