#pragma once

#include <archive/backup.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace chainbase::driver {

/// A backup that was made, restored or looked through.
struct backup_report {
    archive::backup_manifest manifest;
    std::filesystem::path backup;
    std::filesystem::path state; ///< that it was made of, or restored to; empty: neither
    /// When it was made: then what the writer did since its last checkpoint is not in it.
    std::optional<bool> beside_writer;
    double seconds = 0;
};

/// Makes a backup of the state in the folder `state`, archive and all, in the new folder `to`.
///
/// A state that nobody writes is opened as a replay would open it, and what is there is what is in
/// the backup: after a kill what the last whole block left. Beside a writer it is the newest
/// checkpoint that was published. Throws usage_error when there is no state of a chain, and what
/// opening it and archive::back_up throw; interrupted_error after a signal.
[[nodiscard]] backup_report make_backup(const std::filesystem::path& state,
                                        const std::filesystem::path& to);

/// archive::restore_backup(), for those of `group`, and archive::check_backup(). Throw
/// interrupted_error after a signal.
[[nodiscard]] backup_report restore_backup(const std::filesystem::path& from,
                                           const std::filesystem::path& state,
                                           const std::string& group);
[[nodiscard]] backup_report check_backup(const std::filesystem::path& from);

/// One line of JSON, without its end; and for people.
[[nodiscard]] std::string to_json(const backup_report& report);
[[nodiscard]] std::string to_text(const backup_report& report);

} // namespace chainbase::driver
