#pragma once

#include <tests/support/chain_model.hpp>
#include <tests/support/child_process.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

namespace chainbase::test {

/// What a process that may be killed tells: in memory shared with its parent.
struct progress {
    std::atomic<std::uint64_t> begun{0}; ///< steps
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> ready{0};
    std::atomic<std::uint64_t> inside{0}; ///< processes that have the state open for writing
};

/// A fresh progress in shared memory.
[[nodiscard]] std::shared_ptr<progress> shared_progress();

/// Waits until a process told that it is ready. Throws mismatch when it ends before.
void wait_until_ready(pid_t process, const progress& told);

/// The digests of a chain after 0, 1, 2, ... steps, made as far as asked for.
class reference_chain {
public:
    explicit reference_chain(std::uint64_t seed, const chain_options& options = {});
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
