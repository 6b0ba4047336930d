#include <tools/driver/verbs.hpp>
#include <tools/program.hpp>

namespace chainbase {

namespace {

constexpr verb_entry verbs[] = {
    {"backup",
     "Copy a state and its archive together; while a writer runs, from its newest checkpoint",
     driver::declare_backup},
    {"bisect", "Find the first block at which two runs differ, and the objects and fields",
     driver::declare_bisect},
    {"block-log", "Examine, cut, join and repair block logs", driver::declare_block_log},
    {"convert-archive", "Convert the archive of a state to another kind; goes on where it was",
     driver::declare_convert_archive},
    {"generate", "Make a block log of any length from a seed, or branches of a log",
     driver::declare_generate},
    {"import", "Make a block log from tables of real data", driver::declare_import},
    {"live",
     "Run a node: blocks one by one, pending transactions before them, readers at the same time",
     driver::declare_live},
    {"load", "Raise the rate of transactions until a node cannot keep up", driver::declare_load},
    {"replay", "Apply the blocks of a block log to a state; goes on where the state is",
     driver::declare_replay},
    {"restore", "Make a state and its archive from a backup", driver::declare_restore},
    {"roots",
     "Print the roots of the last blocks that a state keeps, for `replay --verify-roots` and "
     "`bisect` elsewhere",
     driver::declare_roots},
    {"serve", "Serve the blocks of a block log to clients, until a signal", driver::declare_serve},
    {"sync", "Apply the blocks of peers to a state, one session each; goes on where it is",
     driver::declare_sync},
};

} // namespace

} // namespace chainbase

int main(int argc, char** argv) {
    using namespace chainbase;
    return run_program(
        {"chainbase-driver",
         "Runs a chain on chainbase",
         verbs,
         {{"chainbase-driver generate --operations 1000000 --to social.blocks",
           "A block log to try things with."},
          {"chainbase-driver replay --block-log social.blocks --state state",
           "Apply its blocks to a state; call it again to go on."},
          {"chainbase-driver serve --block-log social.blocks --listen 127.0.0.1:4000",
           "Serve its blocks to others."},
          {"chainbase-driver sync --peer 127.0.0.1:4000 --state state", "Follow that node."}}},
        argc, argv);
}
