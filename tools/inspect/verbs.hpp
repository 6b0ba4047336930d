#pragma once

#include <tools/command_line.hpp>

#include <filesystem>

namespace chainbase::inspect {

/// Each function declares its verb (command_line.hpp).
void declare_info(command& verb);
void declare_doctor(command& verb);
/// Without a verb: `info` of the state in a folder, or a list of the states below it. Throws
/// format_error when there is none.
[[nodiscard]] exit_code look_around(const std::filesystem::path& folder);
void declare_stat(command& verb);
void declare_top(command& verb);
void declare_map(command& verb);
void declare_tree(command& verb);
void declare_schema(command& verb);
void declare_get(command& verb);
void declare_range(command& verb);
void declare_count(command& verb);
void declare_sample(command& verb);
void declare_dump(command& verb);
void declare_load(command& verb);
void declare_feed(command& verb);
void declare_diff(command& verb);
void declare_digest(command& verb);
void declare_root(command& verb);
void declare_archive(command& verb);
void declare_check(command& verb);
void declare_repair(command& verb);
void declare_undo(command& verb);
void declare_locks(command& verb);
void declare_serve(command& verb);
void declare_backup(command& verb);
void declare_snapshot(command& verb);
void declare_compact(command& verb);
void declare_resize(command& verb);
void declare_warm(command& verb);

} // namespace chainbase::inspect
