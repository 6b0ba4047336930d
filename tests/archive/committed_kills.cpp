// A process is killed while blocks change a state and its root, or an acquisition of its fails: the
// state is at a whole block, and the root that it has recorded is that of its objects.

#include <archive/committed_state.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/note.hpp>
#include <tests/support/failing_database.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using archive::committed_state;

namespace fs = std::filesystem;

namespace {

constexpr revision_number blocks = 30;

/// Blocks that change random notes, equal for equal seeds.
class rooted_chain {
public:
    rooted_chain(const fs::path& folder, std::uint64_t seed, unsigned threads)
        : state_(folder, small_state()), seed_(seed), root_(state_, threads) {
        state_.add_type<note>("note");
        root_.add<note>("note");
        was_current_ = root_.is_current();
        root_.catch_up();
    }

    /// The next block, in one session or as transactions of which some are undone.
    void apply() {
        random_source random(seed_ + static_cast<std::uint64_t>(state_.revision()));
        session block = state_.start_session();
        if (random.chance(500)) {
            change(random);
            root_.update(block.revision());
        } else {
            root_.note_revision();
            for (int number = 0; number < 3; ++number) {
                session transaction = state_.start_session();
                change(random);
                if (random.chance(300)) continue; // it is undone
                (void)root_.follow(transaction.revision());
                root_.squash(transaction);
            }
            root_.record();
            root_.note_revision();
        }
        block.push();
        const revision_number irreversible = state_.revision() - 3;
        if (state_.revision() % 4 == 0 && irreversible > state_.committed_revision())
            state_.commit(irreversible);
    }
    void finish() {
        while (state_.revision() < blocks)
            apply();
    }
    void undo() { state_.undo(); }
    [[nodiscard]] bool can_undo() const { return state_.revision() > state_.committed_revision(); }
    [[nodiscard]] revision_number revision() const { return state_.revision(); }
    [[nodiscard]] bool was_current() const noexcept { return was_current_; }
    [[nodiscard]] committed_state& root() noexcept { return root_; }

private:
    void change(random_source& random) {
        for (std::uint32_t left = 1 + random.below(20); left != 0; --left) {
            const note* const one = state_.find(id<note>(random.below(200)));
            if (!one)
                write(state_, "alice", std::to_string(random.next()), random.below(1000));
            else if (random.chance(300))
                state_.remove(*one);
            else
                state_.modify(*one, [&](note& it) { it.weight = random.below(1000); });
        }
    }

    database state_;
    std::uint64_t seed_;
    committed_state root_;
    bool was_current_ = false;
};

/// The roots after 0, 1, 2, ... blocks, at their revisions.
std::vector<sha256_digest> reference_roots(std::uint64_t seed) {
    const scratch_folder folder;
    rooted_chain chain(folder / "state", seed, 0);
    std::vector<sha256_digest> roots{chain.root().root()};
    while (chain.revision() < blocks) {
        chain.apply();
        REQUIRE(chain.root().recomputed() == chain.root().root());
        roots.push_back(chain.root().root());
    }
    return roots;
}

/// What the next process finds, back to the last irreversible block and on to the end.
void check_killed(rooted_chain& chain, const std::vector<sha256_digest>& roots,
                  const progress& told) {
    const auto found = static_cast<std::uint64_t>(chain.revision());
    expect(found == told.done || found == told.begun, "not at a whole block");
    expect(chain.was_current(), "the recorded root is not of this block");
    for (;;) {
        const sha256_digest& expected = roots[static_cast<std::size_t>(chain.revision())];
        expect(chain.root().root() == expected, "another root was recorded");
        expect(chain.root().recomputed() == expected, "the root is not of the objects");
        if (!chain.can_undo()) break;
        chain.undo();
    }
    chain.finish();
    expect(chain.root().root() == roots.back(), "another root at the end");
    expect(chain.root().tree().root() == roots.back(), "another tree at the end");
}

void kill_rooted_chain(fault::point at, std::uint64_t more_than, std::uint64_t tries) {
    const std::uint64_t seed = test_seed(new_seed());
    INFO("CHAINBASE_TEST_SEED=" << seed);
    const unsigned threads = GENERATE(0u, 1u);
    const auto roots = reference_roots(seed);
    kill_trial trial;
    trial.in_children = true;
    trial.setup = [&](const fs::path& state) {
        rooted_chain chain(state, seed, threads);
        for (int number = 0; number < 3; ++number)
            chain.apply();
        chain.root().keep_leaves(); // which the blocks that follow outdate
    };
    trial.work = [&](const fs::path& state, const killed_process& self) {
        rooted_chain chain(state, seed, threads);
        self.told.begun = self.told.done = static_cast<std::uint64_t>(chain.revision());
        self.arm();
        while (chain.revision() < blocks) {
            ++self.told.begun;
            chain.apply();
            self.told.done = static_cast<std::uint64_t>(chain.revision());
        }
    };
    trial.check = [&](const fs::path& state, const progress& told) {
        rooted_chain chain(state, seed, threads);
        check_killed(chain, roots, told);
    };
    const std::uint64_t points = points_of(at, trial);
    REQUIRE(points > more_than);
    kill_all_along(at, trial, points, tries);
}

} // namespace

TEST_CASE("a chain with a root that is killed at any before-image is at a whole block") {
    kill_rooted_chain(fault::point::log_append, 200, 60);
}

TEST_CASE("a chain with a root that is killed between words of its log, too") {
    kill_rooted_chain(fault::point::log_word, 60, 40);
}

TEST_CASE("a block with a root survives each failing acquisition") {
    const std::uint64_t seed = test_seed(new_seed());
    INFO("CHAINBASE_TEST_SEED=" << seed);
    const unsigned threads = GENERATE(0u, 1u);
    const auto roots = reference_roots(seed);
    const scratch_folder folder;
    failures seen;
    rooted_chain chain(folder / "state", seed, threads);
    while (chain.revision() < blocks) {
        const auto before = static_cast<std::size_t>(chain.revision());
        until_success(
            seen, [&] { chain.apply(); },
            [&] {
                REQUIRE(static_cast<std::size_t>(chain.revision()) == before);
                REQUIRE(chain.root().root() == roots[before]);
                REQUIRE(chain.root().tree().root() == roots[before]);
            });
        REQUIRE(chain.root().root() == roots[before + 1]);
    }
    CHECK(chain.root().recomputed() == roots.back());
    CHECK(seen[fault::point::slot] > 50);
}
