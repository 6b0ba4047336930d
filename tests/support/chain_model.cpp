#include <tests/support/chain_model.hpp>
#include <tests/support/mismatch.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace chainbase::test {

chain_model::chain_model(const std::filesystem::path& state, std::uint64_t seed,
                         const chain_options& options)
    : options_(options),
      world_(state, {.changes = options.changes, .verify = false, .how = options.how}),
      seed_(seed) {
    if (!options_.filled || world_.peak() > 0 || world_.db().revision() > 0) return;
    random_source random(seed_);
    world_.fill(random);
}

void chain_model::apply(std::uint64_t step) {
    random_source random(seed_ * 1'000'003 + step);
    if (world_.depth() > 1 && random.chance(150))
        world_.undo();
    else
        apply_block(random);
}

void chain_model::apply_block(random_source& random) {
    world_.start();
    for (std::uint32_t transactions = random.below(options_.transactions); transactions > 0;
         --transactions) {
        world_.start();
        for (std::uint32_t operations = random.below(options_.operations); operations > 0;
             --operations)
            world_.change_unchecked(random);
        if (random.chance(250))
            world_.undo();
        else
            world_.squash();
    }
    for (std::uint32_t operations = random.below(4); operations > 0; --operations)
        world_.change_unchecked(random);
    if (world_.depth() == 1 && random.chance(300)) {
        world_.squash();
        return;
    }
    world_.push();
    if (world_.depth() > lag) world_.commit(world_.depth() - lag);
    if (random.chance(100)) world_.commit(world_.depth());
}

reference_chain::reference_chain(std::uint64_t seed, const chain_options& options)
    : seed_(seed), options_(options), chain_(folder_ / "reference", seed, options) {
    add_summary();
}

void reference_chain::add_summary() {
    const database& db = chain_.state().db();
    state_summary now{digest_of(db), db.revision(), db.committed_revision(), {}};
    if (!summaries_.empty()) now.digests = summaries_.back().digests;
    now.digests[now.revision] = now.digest;
    summaries_.push_back(std::move(now));
}

const reference_chain::state_summary& reference_chain::after(std::uint64_t steps) {
    while (summaries_.size() <= steps) {
        chain_.apply(summaries_.size() - 1);
        add_summary();
    }
    return summaries_[steps];
}

std::uint64_t reference_chain::digest_after(std::uint64_t steps) {
    return after(steps).digest;
}

revision_number reference_chain::revision_after(std::uint64_t steps) {
    return after(steps).revision;
}

std::uint64_t reference_chain::digest_at(revision_number revision, std::uint64_t steps) {
    const state_summary& then = after(steps);
    // A step commits in the end, in one go or in two, and may be killed before and in between.
    const revision_number least = std::min(then.committed, after(steps ? steps - 1 : 0).committed);
    expect(revision >= least && revision <= then.committed, "committed revision");
    return then.digests.at(revision);
}

void apply_steps(chain_model& chain, std::uint64_t from, std::uint64_t to, progress& told) {
    for (std::uint64_t step = from; step < to; ++step) {
        told.begun = step + 1;
        chain.apply(step);
        told.done = step + 1;
    }
}

std::uint64_t check_state_left(const std::filesystem::path& state, reference_chain& reference,
                               const progress& told, afterwards then) {
    world left(state, {.verify = false});
    check_keys_of(left.db());
    const std::uint64_t found = digest_of(left.db());
    for (const std::uint64_t steps : {told.begun.load(), told.done.load()}) {
        if (found != reference.digest_after(steps)) continue;
        expect(left.db().revision() == reference.revision_after(steps), "revision");
        if (then == afterwards::keep) return steps;
        const std::uint64_t bottom = reference.digest_at(left.db().committed_revision(), steps);
        left.db().undo_all();
        check_keys_of(left.db());
        expect(digest_of(left.db()) == bottom, "undo_all");
        return steps;
    }
    throw mismatch("the state stands at revision " + std::to_string(left.db().revision()) +
                   ", and is neither that after step " + std::to_string(told.done) +
                   " nor after step " + std::to_string(told.begun));
}

} // namespace chainbase::test
