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
    habits changes{.objects = 12};
    bool filled = true;             ///< a new state gets its objects before the first step
    std::uint32_t transactions = 5; ///< of a block, fewer than that
    std::uint32_t operations = 8;   ///< of a transaction, fewer than that
    open_options how = quick_options();
};

/// A deterministic chain over all sample types: step n applies a block in a session (with inner
/// transactions of which some fail), or pops the last block; blocks are committed at a lag, now and
/// then all of them. What step n does depends on the seed, n and the state only.
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

/// The digests of a chain after 0, 1, 2, ... steps, made as far as asked for.
class reference_chain {
public:
    explicit reference_chain(std::uint64_t seed, const chain_options& options = {});
    [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
    [[nodiscard]] const chain_options& options() const noexcept { return options_; }
    [[nodiscard]] std::uint64_t digest_after(std::uint64_t steps);
    [[nodiscard]] revision_number revision_after(std::uint64_t steps);
    /// What undoing blocks down to `revision` comes to after so many steps. Throws mismatch when it
    /// can be neither the committed revision then, nor that of the step before.
    [[nodiscard]] std::uint64_t digest_at(revision_number revision, std::uint64_t steps);
    /// The most objects that each type had in the steps made so far.
    [[nodiscard]] std::size_t peak() const { return chain_.state().peak(); }

private:
    struct stand {
        std::uint64_t digest;
        revision_number revision;
        revision_number committed;
        std::map<revision_number, std::uint64_t> digests; ///< the last one at each revision
    };
    void add_stand();
    const stand& after(std::uint64_t steps);

    std::uint64_t seed_;
    chain_options options_;
    scratch_folder folder_;
    chain_model chain_;
    std::vector<stand> stands_;
};

/// Applies the steps [from, to) of the chain in `state`, telling `told` before and after each.
void apply_steps(chain_model& chain, std::uint64_t from, std::uint64_t to, progress& told);

/// Whether check_state_left may undo the blocks of a state in the end, or somebody goes on with it.
enum class afterwards { undo_all, keep };

/// Opens `state`, which a killed process left, and checks that it stands after the last step that
/// was done, or after the one that was under way, with every key right, and that its blocks can be
/// undone. Throws mismatch. Returns the number of steps it stands at.
std::uint64_t check_state_left(const std::filesystem::path& state, reference_chain& reference,
                               const progress& told, afterwards then = afterwards::undo_all);

} // namespace chainbase::test
