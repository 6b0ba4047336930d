#pragma once

#include <tools/program.hpp>

namespace chainbase::driver {

/// Each adds its verb, as add_verbs in tools/program.hpp says.
void add_backup_verb(CLI::App& program, exit_code& result);
void add_bisect_verb(CLI::App& program, exit_code& result);
void add_block_log_verb(CLI::App& program, exit_code& result);
void add_convert_archive_verb(CLI::App& program, exit_code& result);
void add_generate_verb(CLI::App& program, exit_code& result);
void add_import_verb(CLI::App& program, exit_code& result);
void add_live_verb(CLI::App& program, exit_code& result);
void add_load_verb(CLI::App& program, exit_code& result);
void add_replay_verb(CLI::App& program, exit_code& result);
void add_restore_verb(CLI::App& program, exit_code& result);
void add_roots_verb(CLI::App& program, exit_code& result);
void add_serve_verb(CLI::App& program, exit_code& result);
void add_sync_verb(CLI::App& program, exit_code& result);

} // namespace chainbase::driver
