#pragma once

#include <archive/committed_state.hpp>
#include <chainbase/database.hpp>
#include <tools/chains/chain_model.hpp>
#include <tools/driver/bookkeeping.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace chainbase::driver {

/// Whether a state has a root, and of what. What is not said stays as it is in the state.
struct root_options {
    /// The types whose objects it commits to. {"all"}: all of the chain; {"none"}: there is no
    /// root, as in a new state for which nothing is said.
    std::optional<std::set<std::string>> types;
    /// The number of blocks whose roots are kept.
    std::optional<std::uint64_t> kept;
    /// Threads that hash, besides the one that applies blocks.
    unsigned threads = std::max(1u, std::thread::hardware_concurrency()) - 1;

    /// Whether there is to be no root, also where there is one.
    [[nodiscard]] bool is_none() const { return types == std::set<std::string>{"none"}; }
};

/// The state root of a chain: brought up to date with each block, as part of it, and kept for the
/// last blocks (objects block_root).
///
///     root->catch_up(head);
///     session one = state.start_session();
///     ... apply the block ...
///     root->end_block(one.revision(), number);
///     one.push();
///
/// Used by the writer's thread, under the write lock.
class chain_root {
public:
    /// As `asked` for, or as the state has it; null when there is none, or is to be none. Changes
    /// nothing yet: catch_up() does, or turn_off(). `state` and `model` outlive it. Throws
    /// usage_error for a type that the chain does not have and for what is asked of a root that
    /// there is not, format_error when a later version made it, and what class committed_state
    /// throws.
    [[nodiscard]] static std::unique_ptr<chain_root> open(database& state, const chain_model& model,
                                                          const root_options& asked);

    /// All that was kept for a root goes, if there is one. Where open() was told that there is to
    /// be none, and once: it registers the types that it clears.
    static void turn_off(database& state);

    /// Turns it on, if it is not, and makes the root anew, which is logged, unless it is that of
    /// the state as it is, whose last block is `head` (0: none); roots of blocks that committed to
    /// something else are kept no longer. Happens whole or not at all. Before a session: what
    /// popped blocks take back may be more than they brought.
    void catch_up(std::uint64_t head);
    /// Brings it up to date with a block, all of whose changes are in the session of this revision.
    void end_block(revision_number session, std::uint64_t number);
    /// After sessions with blocks were squashed, or after changes that do not count.
    void note_revision() { objects_.note_revision(); }

    /// Whether it is that of the state as it is: not so when blocks were popped with which it came,
    /// until catch_up().
    [[nodiscard]] bool is_current() const { return objects_.is_current(); }
    /// Of the last block that was ended.
    [[nodiscard]] sha256_digest root() const { return objects_.root(); }
    /// Of a block that is still kept.
    [[nodiscard]] const block_root* of_block(std::uint64_t number) const;
    [[nodiscard]] std::uint64_t objects() const { return objects_.tree().size(); }
    [[nodiscard]] std::set<std::string> types() const { return objects_.types(); }
    /// The blocks whose roots are kept, by rising numbers.
    [[nodiscard]] auto blocks() const { return state_.view<block_root, by_number>(); }
    /// Throws damaged_error, with what to do, when making the root anew from all objects comes to
    /// another one.
    void verify() const;

private:
    chain_root(database& state, unsigned threads);
    void commit_to(const chain_model& model, const std::set<std::string>& types);
    [[nodiscard]] const root_setting* setting() const;
    void require_known_format() const;
    void make_anew(std::uint64_t head);
    void keep(std::uint64_t number, const sha256_digest& writes);
    void remove_old();
    void forget_others();

    database& state_;
    archive::committed_state objects_;
    std::uint64_t kept_ = root_setting::default_kept;
};

} // namespace chainbase::driver
