#include <sys/wait.h>
#include <tests/failure/killed_chain.hpp>
#include <tests/support/mismatch.hpp>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

namespace chainbase::test {

std::shared_ptr<progress> shared_progress() {
    return in_shared_memory<progress>();
}

void wait_until_ready(pid_t process, const progress& told) {
    while (told.ready == 0) {
        expect(waitpid(process, nullptr, WNOHANG) == 0, "the child process ended early");
        usleep(200);
    }
}

reference_chain::reference_chain(std::uint64_t seed, const chain_options& options)
    : chain_(folder_ / "reference", seed, options) {
    add_stand();
}

void reference_chain::add_stand() {
    const database& db = chain_.state().db();
    stand now{digest_of(db), db.revision(), db.committed_revision(), {}};
    if (!stands_.empty()) now.digests = stands_.back().digests;
    now.digests[now.revision] = now.digest;
    stands_.push_back(std::move(now));
}

const reference_chain::stand& reference_chain::after(std::uint64_t steps) {
    while (stands_.size() <= steps) {
        chain_.apply(stands_.size() - 1);
        add_stand();
    }
    return stands_[steps];
}

std::uint64_t reference_chain::digest_after(std::uint64_t steps) {
    return after(steps).digest;
}

revision_number reference_chain::revision_after(std::uint64_t steps) {
    return after(steps).revision;
}

std::uint64_t reference_chain::digest_at(revision_number revision, std::uint64_t steps) {
    const stand& then = after(steps);
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
