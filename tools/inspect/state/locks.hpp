#pragma once

#include <chainbase/locks/process_lock.hpp>

#include <filesystem>
#include <string>

namespace chainbase::inspect {

/// The processes that have a state open.
struct state_locks {
    lock_report turns;
    bool is_being_checked = false; ///< keeps writers out

    /// Throws as lock_report::read.
    [[nodiscard]] static state_locks read(const std::filesystem::path& state);
};

/// "idle", "waiting", or `inside` for a turn.
[[nodiscard]] std::string in_words(lock_report::doing what, const char* inside);
/// The same of a reader, or "snapshot": it has one, and needs no turn.
[[nodiscard]] std::string in_words(const lock_report::of_reader& reader);

/// The report as a text table.
[[nodiscard]] std::string as_text(const state_locks& found);

/// The report as one JSON object; json.md lists its members.
[[nodiscard]] std::string as_json(const state_locks& found);

} // namespace chainbase::inspect
