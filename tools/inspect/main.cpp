#include <tools/inspect/verbs.hpp>
#include <tools/program.hpp>

namespace chainbase {

namespace {

constexpr verb_entry verbs[] = {
    {"info", "Show what a state is, what the next opening does, and what prevents it",
     inspect::declare_info, "info state"},
    {"doctor", "Say in one sentence what to do next with a state", inspect::declare_doctor,
     "doctor state"},
    {"stat", "Show what is in a state, and where its bytes are", inspect::declare_stat,
     "stat state"},
    {"top", "Show on the terminal what happens in a state: rates, latencies, memory, locks",
     inspect::declare_top, "top state"},
    {"map", "Draw how full the pages of a state are", inspect::declare_map,
     "map state --svg map.svg"},
    {"tree", "Show where the memory of a state goes", inspect::declare_tree,
     "tree state --html tree.html"},
    {"schema", "List the types of a state with their fields and keys", inspect::declare_schema,
     "schema state --c-header"},
    {"get", "Print the objects that have a key", inspect::declare_get,
     "get state account by_name alice"},
    {"range", "Print objects in the order of a key", inspect::declare_range,
     "range state account id --limit 10 --reverse"},
    {"count", "Count the objects of a type, or those that have a key", inspect::declare_count,
     "count state account"},
    {"sample", "Print random objects of a type", inspect::declare_sample,
     "sample state account --rows 3"},
    {"dump", "Write all objects as JSON lines", inspect::declare_dump,
     "dump state --output state.jsonl"},
    {"load", "Make a new state from a dump", inspect::declare_load, "load new-state state.jsonl"},
    {"feed", "Print what each block changes", inspect::declare_feed, "feed state --follow"},
    {"diff", "Show how two states differ", inspect::declare_diff, "diff state other-state"},
    {"digest", "Compute a digest of the content of a state", inspect::declare_digest,
     "digest state"},
    {"root", "Show the root of a state, and the tree below it", inspect::declare_root,
     "root state --verify"},
    {"archive", "Show what the archive of a state holds, and how it is used",
     inspect::declare_archive, "archive state"},
    {"check", "Check whether a state that no process writes is sound", inspect::declare_check,
     "check state"},
    {"repair", "Show how a damaged state can be repaired; with --yes, repair it",
     inspect::declare_repair, "repair state"},
    {"undo", "Show which sessions can be undone, and what each changed and costs",
     inspect::declare_undo, "undo state"},
    {"locks", "Show which processes have a state open, and which wait", inspect::declare_locks,
     "locks state"},
    {"serve", "Show a state as a local web page with live charts, until a signal",
     inspect::declare_serve, "serve state"},
    {"backup", "Copy a state as of its newest block, without stopping who writes it",
     inspect::declare_backup, "backup state --to copy"},
    {"snapshot", "Write, verify, load and compare files of a state that can be proven",
     inspect::declare_snapshot, ""},
    {"compact", "Make the segment anew, without its free space", inspect::declare_compact,
     "compact state --dry-run"},
    {"resize", "Change how far the files of a state can grow", inspect::declare_resize,
     "resize state --window-bytes 128GiB --dry-run"},
    {"warm", "Bring a state into memory, so that the next start does not wait for the disk",
     inspect::declare_warm, "warm state"},
};

} // namespace

} // namespace chainbase

int main(int argc, char** argv) {
    using namespace chainbase;
    return run_program({"chainbase-inspect",
                        "Inspects a state, in use or not, without the program that wrote it", verbs,
                        inspect::look_around},
                       argc, argv);
}
