#include <tools/inspect/archive.hpp>
#include <tools/inspect/check.hpp>
#include <tools/inspect/diff.hpp>
#include <tools/inspect/dump.hpp>
#include <tools/inspect/get.hpp>
#include <tools/inspect/info.hpp>
#include <tools/inspect/locks.hpp>
#include <tools/inspect/range.hpp>
#include <tools/inspect/sample.hpp>
#include <tools/inspect/schema.hpp>
#include <tools/inspect/stat.hpp>
#include <tools/inspect/undo.hpp>
#include <tools/program.hpp>

int main(int argc, char** argv) {
    return chainbase::run_program(
        "chainbase-inspect", "Looks at a state, running or not, without the program that wrote it",
        argc, argv, [](CLI::App& program, chainbase::exit_code& result) {
            chainbase::inspect::add_stat(program, result);
            chainbase::inspect::add_get(program, result);
            chainbase::inspect::add_range(program, result);
            chainbase::inspect::add_count(program, result);
            chainbase::inspect::add_sample(program, result);
            chainbase::inspect::add_dump(program, result);
            chainbase::inspect::add_diff(program, result);
            chainbase::inspect::add_archive(program, result);
            chainbase::inspect::add_check(program, result);
            chainbase::inspect::add_info(program, result);
            chainbase::inspect::add_locks(program, result);
            chainbase::inspect::add_schema(program, result);
            chainbase::inspect::add_undo(program, result);
        });
}
