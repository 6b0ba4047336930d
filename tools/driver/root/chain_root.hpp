#pragma once

#include <archive/committed_state.hpp>
#include <chainbase/database.hpp>
#include <tools/chains/chain_model.hpp>
#include <tools/driver/bookkeeping.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace chainbase::driver {

/// Whether a state has a root, and over which types. Unset members leave the state's setting
/// unchanged.
struct root_options {
    /// The types whose objects it commits to. {"all"}: all of the chain; {"none"}: no root, the
    /// default of a new state.
    std::optional<std::set<std::string>> types;
    /// Number of blocks whose roots are kept.
    std::optional<std::uint64_t> kept;
    /// Hashing threads, beside the applying thread.
    unsigned threads = std::max(1u, std::thread::hardware_concurrency()) - 1;

    /// Whether the root is to be turned off.
    [[nodiscard]] bool is_none() const { return types == std::set<std::string>{"none"}; }
};

/// The state root of a chain: it follows each block, and is kept for the last blocks (objects
/// block_root).
///
///     root->catch_up(head);
///     session one = state.start_session();
///     ... apply the block ...
///     root->end_block(one.revision(), number);
///     root->record();
///     one.push();
///
/// In a step of many blocks, each ends with end_block() and squash(), so that a thread hashes one
/// block while the next is applied, and record() comes once, before the step is complete. So the
/// state of every completed step has its own root.
///
/// Used by the writer thread, under the write lock.
class chain_root {
public:
    /// The root `asked` for, or the state's own; null when there is none, or it is to be turned
    /// off. Changes no object yet: catch_up() or turn_off() does. `state` and `model` must outlive
    /// it. Throws usage_error for a type that the chain does not have and for options of a root
    /// that is off, format_error when another version made it and this cannot tell of which types,
    /// and what class committed_state throws.
    [[nodiscard]] static std::unique_ptr<chain_root> open(database& state, const chain_model& model,
                                                          const root_options& asked);

    /// Removes everything kept for a root, if any. Call it once, where open() was told to turn the
    /// root off: it registers the types that it clears.
    static void turn_off(database& state);

    /// Turns the root on if necessary, and rebuilds it (logged) unless it matches the current
    /// state, whose last block is `head` (0: none); drops block roots that committed to something
    /// else. Happens as a whole or not at all. Call it before a session: popped blocks may undo
    /// more than they did.
    void catch_up(std::uint64_t head);
    /// Has the root follow a block whose changes are all in the session of this revision.
    void end_block(revision_number session, std::uint64_t number);
    /// Squashes the session of a block that was ended.
    void squash(session& block) { objects_.squash(block); }
    /// Waits for the root of the blocks that were ended, and keeps it with them.
    void record();
    /// Has the root follow a session that copies another state's block, whose root came with it
    /// (chainbase/feed/replica.hpp), and keeps its own. Throws damaged_error, with both, when they
    /// differ.
    void follow_copied(revision_number session, std::uint64_t number);
    /// Call it after changes outside the root.
    void note_revision() { objects_.note_revision(); }
    /// Call it before the state is closed: the next opening need not read all objects.
    void keep_leaves() noexcept { objects_.keep_leaves(); }

    /// Whether the root matches the current state: false after blocks were popped that had turned
    /// it on, until catch_up().
    [[nodiscard]] bool is_current() const { return objects_.is_current(); }
    /// The root after the last block that was recorded.
    [[nodiscard]] sha256_digest root() const { return objects_.root(); }
    /// The root of a block, if still kept.
    [[nodiscard]] const block_root* of_block(std::uint64_t number) const;
    [[nodiscard]] std::uint64_t objects() const { return objects_.objects(); }
    /// How long end_block() and record() took, all calls together.
    [[nodiscard]] double seconds() const { return std::chrono::duration<double>(spent_).count(); }
    [[nodiscard]] std::set<std::string> types() const { return objects_.types(); }
    /// The blocks whose roots are kept, by rising numbers.
    [[nodiscard]] auto blocks() const { return state_.view<block_root, by_number>(); }
    /// Throws damaged_error, with what to do, when rebuilding the root from all objects gives
    /// another one.
    void verify() const;

private:
    chain_root(database& state, unsigned threads);
    void commit_to(const chain_model& model, const std::set<std::string>& types);
    [[nodiscard]] const root_setting* setting() const;
    /// A block whose root is being made.
    struct ended_block {
        std::uint64_t number;
        std::shared_future<state_root::block_digests> digests;
    };

    void require_known_format(bool has_types) const;
    void make_anew(std::uint64_t head);
    void keep(std::uint64_t number, const state_root::block_digests& of);
    void keep_ended(std::size_t most_left);
    void remove_old();
    void forget_others();

    database& state_;
    archive::committed_state objects_;
    std::chrono::steady_clock::duration spent_{0};
    std::uint64_t kept_ = root_setting::default_kept;
    std::deque<ended_block> ended_; ///< not kept yet
};

} // namespace chainbase::driver
