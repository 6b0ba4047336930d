#pragma once

#include <chainbase/lock/process_lock.hpp>

#include <filesystem>
#include <string>

namespace chainbase::inspect {

/// Who has a state open.
struct state_locks {
    lock_report turns;
    bool is_being_checked = false; ///< which keeps writers out

    /// Throws what lock_report::read throws.
    [[nodiscard]] static state_locks read(const std::filesystem::path& state);
};

/// "idle", "waiting", or `inside`: what it does in its turn.
[[nodiscard]] std::string in_words(lock_report::doing what, const char* inside);

/// The report as a table for people.
[[nodiscard]] std::string as_text(const state_locks& found);

/// The report as one JSON object; json.md lists its members.
[[nodiscard]] std::string as_json(const state_locks& found);

} // namespace chainbase::inspect
