#pragma once

#include <tests/support/child_process.hpp>
#include <tests/support/world.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

namespace chainbase::test {

/// The size of a chain and its blocks.
struct chain_options {
    change_options changes{.objects = 12};
    bool filled = true;             ///< a new state is filled before the first step
    std::uint32_t transactions = 5; ///< maximum in a block, exclusive
    std::uint32_t operations = 8;   ///< maximum in a transaction, exclusive
    open_options how = quick_options();
};

/// A deterministic chain over all sample types: step n applies a block in a session (with inner
/// transactions, some of which fail), or pops the last block; blocks are committed at a lag,
/// sometimes all of them. Step n depends only on the seed, n and the state.
class chain_model {
public:
    static constexpr std::size_t lag = 5;

    chain_model(const std::filesystem::path& state, std::uint64_t seed,
                const chain_options& options = {});

    void apply(std::uint64_t step);
    [[nodiscard]] world& state() noexcept { return world_; }
    [[nodiscard]] const world& state() const noexcept { return world_; }

private:
    void apply_block(random_source& random);

    chain_options options_;
    world world_;
    std::uint64_t seed_;
};

/// The digests of a chain after 0, 1, 2, ... steps, computed on demand.
class reference_chain {
public:
    explicit reference_chain(std::uint64_t seed, const chain_options& options = {});
    [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
    [[nodiscard]] const chain_options& options() const noexcept { return options_; }
    [[nodiscard]] std::uint64_t digest_after(std::uint64_t steps);
    [[nodiscard]] revision_number revision_after(std::uint64_t steps);
    /// The digest after so many steps and undoing blocks down to `revision`. Throws mismatch when
    /// that is neither the committed revision at that time nor at the previous step.
    [[nodiscard]] std::uint64_t digest_at(revision_number revision, std::uint64_t steps);
    /// The most objects that each type had in the steps made so far.
    [[nodiscard]] std::size_t peak() const { return chain_.state().peak(); }

private:
    struct state_summary {
        std::uint64_t digest;
        revision_number revision;
        revision_number committed;
        std::map<revision_number, std::uint64_t> digests; ///< the last one at each revision
    };
    void add_summary();
    const state_summary& after(std::uint64_t steps);

    std::uint64_t seed_;
    chain_options options_;
    scratch_folder folder_;
    chain_model chain_;
    std::vector<state_summary> summaries_;
};

/// Applies the steps [from, to) of the chain in `state`, recording each in `told` before and after.
void apply_steps(chain_model& chain, std::uint64_t from, std::uint64_t to, progress& told);

/// Whether check_state_left may undo the state's blocks in the end, or must keep them.
enum class afterwards { undo_all, keep };

/// Opens `state`, left by a killed process, and checks that it is after the last completed step, or
/// the current one, with every key right, and that its blocks can be undone. Throws mismatch.
/// Returns its number of steps.
std::uint64_t check_state_left(const std::filesystem::path& state, reference_chain& reference,
                               const progress& told, afterwards then = afterwards::undo_all);

} // namespace chainbase::test
