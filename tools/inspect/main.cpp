#include <tools/inspect/verbs.hpp>
#include <tools/program.hpp>

namespace chainbase {

namespace {

constexpr verb_entry verbs[] = {
    {"info", "What a state is, what the next opening does, and what is in its way",
     inspect::declare_info},
    {"stat", "What is in a state, and where its bytes are", inspect::declare_stat},
    {"top", "Show on the terminal what happens in a state: rates, latencies, memory, locks",
     inspect::declare_top},
    {"map", "A picture of how full the pages of a state are", inspect::declare_map},
    {"tree", "Where the memory of a state goes", inspect::declare_tree},
    {"schema", "The types of a state: fields and keys", inspect::declare_schema},
    {"get", "The objects that have a key", inspect::declare_get},
    {"range", "Objects in the order of a key", inspect::declare_range},
    {"count", "How many objects there are, or have a key", inspect::declare_count},
    {"sample", "Some objects of a type, by chance", inspect::declare_sample},
    {"dump", "All objects as JSON lines", inspect::declare_dump},
    {"load", "A new state from a dump", inspect::declare_load},
    {"diff", "What two states do not have in common", inspect::declare_diff},
    {"digest", "What a state means, as one number", inspect::declare_digest},
    {"root", "The root of a state, and the tree below it", inspect::declare_root},
    {"archive", "What the archive of a state holds, and what is asked of it",
     inspect::declare_archive},
    {"check", "Whether a state that nobody writes is sound", inspect::declare_check},
    {"repair", "How a damaged state can be mended, and with --yes mends it",
     inspect::declare_repair},
    {"undo", "Which sessions can be undone, and what each changed and costs",
     inspect::declare_undo},
    {"locks", "Who has a state open, and who waits for whom", inspect::declare_locks},
    {"serve", "Show a state as a local web page with live charts, until a signal",
     inspect::declare_serve},
    {"compact", "Make the segment anew, without what is free in it", inspect::declare_compact},
    {"resize", "How far the files of a state can grow", inspect::declare_resize},
    {"warm", "Bring a state into memory, so that the next start does not wait for the disk",
     inspect::declare_warm},
};

} // namespace

} // namespace chainbase

int main(int argc, char** argv) {
    using namespace chainbase;
    return run_program(
        {"chainbase-inspect",
         "Looks at a state, running or not, without the program that wrote it",
         verbs,
         {{"chainbase-inspect info state", "What is wrong with a state, and what to do."},
          {"chainbase-inspect stat state --json", "Where its bytes are, for a program."},
          {"chainbase-inspect schema state --c-header > types.h", "Its types, for C."},
          {"chainbase-inspect check -v state", "Whether it is sound."}}},
        argc, argv);
}
