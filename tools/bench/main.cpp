#include <tools/bench/benches.hpp>
#include <tools/program.hpp>

namespace chainbase {

namespace {

constexpr verb_entry benches[] = {
    {"account", "One type of 72 bytes with three unique keys, in every engine",
     bench::declare_account, "account --objects 1000000 --engines chainbase,classical"},
    {"chain", "The blocks of chains: replay, sync and live, the same rules over every engine",
     bench::declare_chain, "chain --log social.blocks --engines chainbase,classical"},
    {"growth", "What operations cost as the state of a payments chain grows", bench::declare_growth,
     "growth --objects 100000,1000000"},
    {"bank", "Transfers in batches of three sizes, alone and beside a reader, in every engine",
     bench::declare_bank, "bank --accounts 100000 --engines chainbase,lmdb"},
    {"crash", "Durable blocks, and opening again after a kill, in every engine",
     bench::declare_crash, "crash --objects 100000 --engines chainbase,lmdb_sync"},
    {"archive",
     "A social chain whose paid comments leave memory, compared with one that keeps them",
     bench::declare_archive, "archive --rows 100000"},
    {"readers", "How much inspectors slow down the writer of the state that they read",
     bench::declare_readers, "readers --readers 4"},
    {"root", "What the state root costs: its tree, updates, proofs, and a replay with it",
     bench::declare_root, "root --objects 100000"},
    {"large", "A state on a disk, with memory enough for it and with less", bench::declare_large,
     "large --objects 1000000 --directory /var/tmp"},
};

} // namespace

} // namespace chainbase

int main(int argc, char** argv) {
    using namespace chainbase;
    return run_program(
        {"chainbase-bench", "Compares chainbase with other engines, in one run", benches}, argc,
        argv);
}
