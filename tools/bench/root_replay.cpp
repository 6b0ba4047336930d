#include <pool_allocator/error.hpp>
#include <tools/bench/bench_setup.hpp>
#include <tools/bench/root_replay.hpp>
#include <tools/bench/scratch_directory.hpp>
#include <tools/driver/generate/generate.hpp>
#include <tools/driver/replay.hpp>

#include <malloc.h>

namespace chainbase::bench {

root_replay::root_replay(const std::filesystem::path& directory, std::uint64_t operations,
                         const catch_interruption& signals)
    : directory_(directory), log_(directory / "log"), signals_(signals) {
    generate::chain_options chain;
    chain.operations = operations;
    chain.transactions_per_block = 500;
    (void)generate::generate_log(chain, {}, log_, signals);
    throw_if_interrupted();
}

auto root_replay::replay_once(bool with_root) const -> outcome {
    malloc_trim(0);
    const scratch_directory place(directory_);
    driver::replay_options how;
    how.block_log = log_;
    how.state = place.path() / "state";
    how.promise.level = durability::process;
    if (with_root) how.promise.root.types = {"all"};
    const driver::replay_report done = driver::replay(how, signals_);
    throw_if_interrupted();
    return {1e9 * done.seconds / static_cast<double>(done.replayed_operations), done.state_digest};
}

void root_replay::run_round(measurements& to) const {
    const outcome without = replay_once(false);
    const outcome with = replay_once(true);
    if (with.digest != without.digest)
        throw damaged_error("bench: the root changed what it commits to: no figure counts");
    to.add("replay_without_root", metric::ns, without.ns);
    to.add("replay_with_root", metric::ns, with.ns);
    to.add("replay_with_root_to_without", metric::ratio, with.ns / without.ns);
}

} // namespace chainbase::bench
