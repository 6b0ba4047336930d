#include <tools/inspect/verbs.hpp>
#include <tools/program.hpp>

namespace chainbase {

namespace {

constexpr verb_entry verbs[] = {
    {"info", "Show what a state is, what the next opening does, and what prevents it",
     inspect::declare_info},
    {"stat", "Show what is in a state, and where its bytes are", inspect::declare_stat},
    {"top", "Show on the terminal what happens in a state: rates, latencies, memory, locks",
     inspect::declare_top},
    {"map", "Draw how full the pages of a state are", inspect::declare_map},
    {"tree", "Show where the memory of a state goes", inspect::declare_tree},
    {"schema", "List the types of a state with their fields and keys", inspect::declare_schema},
    {"get", "Print the objects that have a key", inspect::declare_get},
    {"range", "Print objects in the order of a key", inspect::declare_range},
    {"count", "Count the objects of a type, or those that have a key", inspect::declare_count},
    {"sample", "Print random objects of a type", inspect::declare_sample},
    {"dump", "Write all objects as JSON lines", inspect::declare_dump},
    {"load", "Make a new state from a dump", inspect::declare_load},
    {"diff", "Show how two states differ", inspect::declare_diff},
    {"digest", "Compute a digest of the content of a state", inspect::declare_digest},
    {"root", "Show the root of a state, and the tree below it", inspect::declare_root},
    {"archive", "Show what the archive of a state holds, and how it is used",
     inspect::declare_archive},
    {"check", "Check whether a state that no process writes is sound", inspect::declare_check},
    {"repair", "Show how a damaged state can be repaired; with --yes, repair it",
     inspect::declare_repair},
    {"undo", "Show which sessions can be undone, and what each changed and costs",
     inspect::declare_undo},
    {"locks", "Show which processes have a state open, and which wait", inspect::declare_locks},
    {"serve", "Show a state as a local web page with live charts, until a signal",
     inspect::declare_serve},
    {"compact", "Make the segment anew, without its free space", inspect::declare_compact},
    {"resize", "Change how far the files of a state can grow", inspect::declare_resize},
    {"warm", "Bring a state into memory, so that the next start does not wait for the disk",
     inspect::declare_warm},
};

} // namespace

} // namespace chainbase

int main(int argc, char** argv) {
    using namespace chainbase;
    return run_program(
        {"chainbase-inspect",
         "Inspects a state, in use or not, without the program that wrote it",
         verbs,
         {{"chainbase-inspect info state", "Show what is wrong with a state, and what to do."},
          {"chainbase-inspect stat state --json", "Print where its bytes are, for a program."},
          {"chainbase-inspect schema state --c-header > types.h", "Print its types, for C."},
          {"chainbase-inspect check -v state", "Check whether it is sound."}}},
        argc, argv);
}
