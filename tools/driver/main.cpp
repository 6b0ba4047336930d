#include <tools/driver/verbs.hpp>

int main(int argc, char** argv) {
    using namespace chainbase;
    return run_program("chainbase-driver", "Runs a chain over chainbase", argc, argv,
                       [](CLI::App& program, exit_code& result) {
                           driver::add_backup_verb(program, result);
                           driver::add_bisect_verb(program, result);
                           driver::add_block_log_verb(program, result);
                           driver::add_convert_archive_verb(program, result);
                           driver::add_generate_verb(program, result);
                           driver::add_import_verb(program, result);
                           driver::add_live_verb(program, result);
                           driver::add_load_verb(program, result);
                           driver::add_replay_verb(program, result);
                           driver::add_restore_verb(program, result);
                           driver::add_roots_verb(program, result);
                           driver::add_serve_verb(program, result);
                           driver::add_sync_verb(program, result);
                       });
}
