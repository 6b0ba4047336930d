#include <tools/driver/verbs.hpp>
#include <tools/program.hpp>

namespace chainbase {

namespace {

constexpr verb_entry verbs[] = {
    {"backup",
     "Copy a state and its archive together; while a writer runs, from its newest checkpoint",
     driver::declare_backup, "backup --state state --to monday"},
    {"bisect", "Find the first block at which two runs differ, and the objects and fields",
     driver::declare_bisect, "bisect state other-state"},
    {"block-log", "Examine, cut, join and repair block logs", driver::declare_block_log,
     "block-log verify social.blocks"},
    {"convert-archive", "Convert the archive of a state to another kind; goes on where it was",
     driver::declare_convert_archive, "convert-archive --state state --to memory"},
    {"generate", "Make a block log of any length from a seed, or branches of a log",
     driver::declare_generate, "generate --operations 1000000 --to social.blocks"},
    {"import", "Make a block log from tables of real data", driver::declare_import,
     "import steem-2016 --from tables --to steem.blocks"},
    {"live",
     "Run a node: blocks one by one, pending transactions before them, readers at the same time",
     driver::declare_live, "live --peer 127.0.0.1:4000 --state state --readers 2 --pending 1000"},
    {"load", "Raise the rate of transactions until a node cannot keep up", driver::declare_load,
     "load --workload payments --accounts 100000 --to figures"},
    {"replay", "Apply the blocks of a block log to a state; goes on where the state is",
     driver::declare_replay, "replay --block-log social.blocks --state state"},
    {"restore", "Make a state and its archive from a backup", driver::declare_restore,
     "restore --from monday --state state"},
    {"roots",
     "Print the roots of the last blocks that a state keeps, for `replay --verify-roots` and "
     "`bisect` elsewhere",
     driver::declare_roots, "roots state"},
    {"serve", "Serve the blocks of a block log to clients, until a signal", driver::declare_serve,
     "serve --block-log social.blocks --listen 127.0.0.1:4000"},
    {"standby",
     "Keep a copy of a running state block by block, which takes over when that is killed",
     driver::declare_standby, "standby --of state --state copy"},
    {"sync", "Apply the blocks of peers to a state, one session each; goes on where it is",
     driver::declare_sync, "sync --peer 127.0.0.1:4000 --state state"},
};

} // namespace

} // namespace chainbase

int main(int argc, char** argv) {
    using namespace chainbase;
    return run_program({"chainbase-driver", "Runs a chain on chainbase", verbs}, argc, argv);
}
