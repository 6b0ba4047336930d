// A process is killed while it copies before-images back: of an operation, of a session, of what an
// earlier kill left.

#include <catch2/catch.hpp>
#include <tests/failure/killed_chain.hpp>
#include <tests/support/failures.hpp>

#include <map>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("killed while an operation, a transaction or a block is rolled back") {
    const std::uint64_t seed = test_seed(11);
    reference_chain reference(seed);
    int kills = 0;
    for (std::uint64_t n = 0;; n += 1 + n / 25) {
        const scratch_folder folder;
        const auto told = shared_progress();
        const ending end = run_process([&] {
            chain_model chain(folder / "state", seed);
            kill_at_nth(fault::point::rollback_copy, n);
            apply_steps(chain, 0, 60, *told);
        });
        if (!end.killed) break;
        ++kills;
        INFO("seed " << seed << ", killed at copy " << n << ", in step " << told->begun);
        CHECK_NOTHROW(check_state_left(folder / "state", reference, *told));
    }
    if (is_usual_run()) CHECK(kills > 60);
}

TEST_CASE("recovery that is killed again and again comes to the same end") {
    const std::uint64_t seed = test_seed(12);
    reference_chain reference(seed);
    int kills = 0;
    for (std::uint64_t first = 50; first < 6000; first += 997) {
        const scratch_folder folder;
        const auto told = shared_progress();
        const ending end = run_process([&] {
            chain_model chain(folder / "state", seed);
            kill_at_nth(fault::point::log_append, first);
            apply_steps(chain, 0, 60, *told);
        });
        if (!end.killed) break;
        for (std::uint64_t n = 0;; ++n) {
            const ending recovered = run_process([&] {
                kill_at_nth(fault::point::rollback_copy, n * n / 4);
                const database db(folder / "state", quick_options());
            });
            if (!recovered.killed) break;
            ++kills;
        }
        INFO("seed " << seed << ", killed at before-image " << first);
        CHECK_NOTHROW(check_state_left(folder / "state", reference, *told));
    }
    if (is_usual_run()) CHECK(kills > 20);
}

TEST_CASE("popping all blocks, killed at every copy, goes back block by block") {
    const std::uint64_t seed = test_seed(13);
    const auto prepare = [](chain_model& chain) {
        for (std::uint64_t step = 0; step < 25 || chain.state().depth() < 5; ++step)
            chain.apply(step);
    };
    // What the state is at each revision that the chain can go back to.
    std::map<revision_number, std::uint64_t> by_revision;
    {
        const scratch_folder folder;
        chain_model chain(folder / "state", seed);
        prepare(chain);
        world& w = chain.state();
        by_revision[w.db().revision()] = digest_of(w.db());
        while (w.depth() > 0) {
            w.undo();
            by_revision[w.db().revision()] = digest_of(w.db());
        }
    }
    int kills = 0;
    for (std::uint64_t n = 0;; n += 1 + n / 20) {
        const scratch_folder folder;
        const ending end = run_process([&] {
            chain_model chain(folder / "state", seed);
            prepare(chain);
            kill_at_nth(fault::point::rollback_copy, n);
            chain.state().db().undo_all();
        });
        if (!end.killed) break;
        ++kills;
        world left(folder / "state", {.verify = false});
        const database& db = left.db();
        INFO("seed " << seed << ", killed at copy " << n << ", revision " << db.revision());
        REQUIRE(by_revision.contains(db.revision()));
        CHECK(digest_of(db) == by_revision[db.revision()]);
        CHECK_NOTHROW(check_keys_of(db));
    }
    if (is_usual_run()) CHECK(kills > 30);
}
