// The tree of the state root where acquiring memory fails, and where the process is killed: after
// each failure it is what it was, byte by byte; after each kill it is that of the last block.
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <tests/failure/killed_chain.hpp>
#include <tests/state_root/told_tree.hpp>
#include <tests/support/failing_database.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>

#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr std::uint64_t blocks = 30;

/// Blocks that change random objects, the same for the same seed.
class rooted_chain {
public:
    rooted_chain(const std::filesystem::path& folder, std::uint64_t seed)
        : state_(folder, quick_options()), told_(state_), seed_(seed) {}

    void apply(std::uint64_t number) {
        random_source random(seed_ + number);
        session block = state_.start_session();
        told_.update(random_changes(told_, random, 300));
        block.push();
        if (number % 4 == 0) state_.commit(state_.revision() - 2);
    }
    [[nodiscard]] sha256_digest root() const { return told_.tree().root(); }
    [[nodiscard]] revision_number revision() const { return state_.revision(); }
    void require_sound() const { told_.require_nodes(); }
    void undo() { state_.undo(); }
    [[nodiscard]] bool can_undo() const { return state_.revision() > state_.committed_revision(); }

private:
    database state_;
    told_tree told_;
    std::uint64_t seed_;
};

/// The roots after 0, 1, 2, ... blocks, at the revisions that these have.
std::vector<sha256_digest> reference_roots(std::uint64_t seed) {
    const scratch_folder folder;
    rooted_chain chain(folder / "state", seed);
    std::vector<sha256_digest> roots{chain.root()};
    for (std::uint64_t number = 0; number < blocks; ++number) {
        chain.apply(number);
        roots.push_back(chain.root());
    }
    return roots;
}

std::uint64_t points_in_chain(std::uint64_t seed, fault::point at) {
    const scratch_folder folder;
    rooted_chain chain(folder / "state", seed);
    count_points(at);
    for (std::uint64_t number = 0; number < blocks; ++number)
        chain.apply(number);
    fault::hook = nullptr;
    return points_counted();
}

/// A killed chain stands after a whole block, the last that was done or the one under way, and its
/// blocks can be undone, each to its root.
void kill_and_check(std::uint64_t seed, const std::vector<sha256_digest>& roots, fault::point at,
                    std::uint64_t n) {
    const scratch_folder folder;
    const auto told = shared_progress();
    { // types and tree are there
        const rooted_chain chain(folder / "state", seed);
    }
    const ending end = run_process([&] {
        rooted_chain chain(folder / "state", seed);
        kill_at_nth(at, n);
        for (std::uint64_t number = 0; number < blocks; ++number) {
            told->begun = number + 1;
            chain.apply(number);
            told->done = number + 1;
        }
    });
    REQUIRE(end.killed);
    INFO("seed " << seed << ", killed at point " << n << ", in block " << told->begun);
    rooted_chain chain(folder / "state", seed);
    auto stands_at = static_cast<std::uint64_t>(chain.revision());
    REQUIRE((stands_at == told->done || stands_at == told->begun));
    for (;; --stands_at) {
        REQUIRE(chain.root() == roots[stands_at]);
        chain.require_sound();
        if (!chain.can_undo()) break;
        chain.undo();
    }
}

} // namespace

TEST_CASE("an update of the state root survives each failing acquisition") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    const scratch_folder folder;
    database state(folder / "state", quick_options());
    told_tree told(state);
    failures seen;
    std::vector<session> undoable;
    for (std::uint64_t step = 0; step < short_test_operations(150); ++step) {
        if (step % 5 == 0) undoable.push_back(state.start_session());
        const auto changes = random_changes(told, random, 40 + 20 * step);
        const snapshot before(state.memory());
        const sha256_digest root = told.tree().root();
        until_success(
            seen, [&] { told.update(changes); },
            [&] {
                const snapshot now(state.memory());
                REQUIRE(now.difference(before) == "");
                REQUIRE(told.tree().root() == root);
            });
        if (step % 10 == 0) told.require_right();
    }
    told.require_right();
    told.require_sound();
    CHECK(seen[fault::point::slot] > 50);
}

TEST_CASE("a chain with a state root that is killed at any before-image stands at a whole block") {
    const std::uint64_t seed = test_seed(new_seed());
    const auto roots = reference_roots(seed);
    const std::uint64_t points = points_in_chain(seed, fault::point::log_append);
    REQUIRE(points > 1000);
    for (std::uint64_t i = 0; i < 120; ++i)
        kill_and_check(seed, roots, fault::point::log_append, points * i / 120);
}

TEST_CASE("a chain with a state root that is killed between words of its log, too") {
    const std::uint64_t seed = test_seed(new_seed());
    const auto roots = reference_roots(seed);
    const std::uint64_t points = points_in_chain(seed, fault::point::log_word);
    for (std::uint64_t i = 0; i < 60; ++i)
        kill_and_check(seed, roots, fault::point::log_word, points * i / 60);
}
