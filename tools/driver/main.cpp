#include <tools/driver/verbs.hpp>
#include <tools/program.hpp>

namespace chainbase {

namespace {

constexpr verb_entry verbs[] = {
    {"backup",
     "Copy a state and its archive, a pair that belongs together; beside a writer, its newest "
     "checkpoint",
     driver::declare_backup},
    {"bisect", "Find the first block at which two runs differ, and the objects and fields",
     driver::declare_bisect},
    {"block-log", "Look at, cut, join and repair block logs", driver::declare_block_log},
    {"convert-archive", "Keep the finished objects of a state elsewhere; goes on where it was",
     driver::declare_convert_archive},
    {"generate", "Make a block log of any length from a seed, or branches of a log",
     driver::declare_generate},
    {"import", "Make a block log of tables of real data", driver::declare_import},
    {"live", "Run a node: blocks one by one, transactions before them, readers beside",
     driver::declare_live},
    {"load", "Raise the rate of transactions until a node does not keep up", driver::declare_load},
    {"replay", "Apply the blocks of a block log to a state; goes on where the state is",
     driver::declare_replay},
    {"restore", "Make the state and the archive of a backup again", driver::declare_restore},
    {"roots",
     "Print the roots of the last blocks that a state keeps, for `replay --verify-roots` and "
     "`bisect` elsewhere",
     driver::declare_roots},
    {"serve", "Give the blocks of a block log to whoever connects, until a signal",
     driver::declare_serve},
    {"sync", "Apply the blocks of peers to a state, one session each; goes on where it is",
     driver::declare_sync},
};

} // namespace

} // namespace chainbase

int main(int argc, char** argv) {
    using namespace chainbase;
    return run_program(
        {"chainbase-driver",
         "Runs a chain over chainbase",
         verbs,
         {{"chainbase-driver generate --operations 1000000 --to social.blocks",
           "A block log to try things with."},
          {"chainbase-driver replay --block-log social.blocks --state state",
           "Its blocks into a state; call it again to go on."},
          {"chainbase-driver serve --block-log social.blocks --listen 127.0.0.1:4000",
           "The blocks for others."},
          {"chainbase-driver sync --peer 127.0.0.1:4000 --state state", "Follow that node."}}},
        argc, argv);
}
