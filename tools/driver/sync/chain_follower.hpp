#pragma once

#include <tools/driver/chain_state.hpp>
#include <tools/driver/sync/fork_tree.hpp>
#include <tools/driver/sync/peer_feed.hpp>
#include <tools/message_limit.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace chainbase::driver {

/// A chain that moves along branches, block by block: a state, or a node that keeps pending
/// transactions over one. For the applying thread.
class followed_chain {
public:
    explicit followed_chain(chain_state& state) noexcept : state_(state) {}
    followed_chain(const followed_chain&) = delete;
    followed_chain& operator=(const followed_chain&) = delete;
    virtual ~followed_chain() = default;

    /// Applies the block that follows the head. Throws as chain_state::apply.
    virtual void apply(const decoded_block& next) { state_.apply(next); }
    /// Pops the head. `last`: its content, or null when it is no longer known.
    virtual void pop(std::shared_ptr<const decoded_block> last) {
        static_cast<void>(std::move(last));
        state_.pop();
    }

    [[nodiscard]] const chain_state& state() const noexcept { return state_; }

protected:
    chain_state& state_;
};

/// Keeps a chain at the end of the longest known branch: applies blocks in one session each, pops
/// to the common block when another branch gets longer, applies that branch, and returns to the
/// first when one of its blocks is bad.
///
/// Invariants: (1) after each call the chain is at the best branch of the tree; (2) a bad block is
/// applied at most once while it is remembered; (3) a block that the chain cannot return to
/// (popped, and older than this follower) is requested again; (4) the cost of a sender's blocks is
/// bounded by their bytes: too many rejected or useless blocks, or branch switches, cause a
/// complaint.
///
/// For the applying thread.
class chain_follower {
public:
    /// `lag`: the state's. `progress`: how long a sender may send nothing new and good.
    chain_follower(followed_chain& chain, std::size_t lag,
                   std::chrono::milliseconds progress = std::chrono::seconds(30),
                   fork_tree::limits bounds = {});

    /// A sender's fault, with which its connection is refused.
    struct complaint {
        peer_error::severity how;
        std::string what;
    };

    /// Applies the blocks that lead to the longest branch. Returns a complaint about the run's
    /// sender; blocks before the fault stay applied. Throws what chain_state throws when no block
    /// is at fault.
    [[nodiscard]] std::optional<complaint> take(block_source::event& event);

    /// Complains about a sender without further blocks whose head it never sent, or is bad.
    [[nodiscard]] std::optional<complaint> check_head(const block_source::event& event) const;
    /// Complains about a finished sender that ended before the last block it announced, or beside
    /// the head on a branch that is no better.
    [[nodiscard]] std::optional<complaint> check_end(const block_source::event& event,
                                                     const block_place& announced) const;
    /// Complains about a sender whose next block is beyond the number to stop at: if it follows a
    /// block that nobody sent, or repeatedly another than the head.
    [[nodiscard]] std::optional<complaint> check_beyond(const block_source::event& event,
                                                        std::uint64_t stop_at);

    /// Call it before a connection is asked for blocks: drops unapplied blocks of other senders, so
    /// that they take no space. A peer sends everything after the common block.
    void begin_connection() { tree_.forget_waiting(); }

    [[nodiscard]] const block_place& head() const noexcept { return tree_.head(); }

    /// Whether the blocks of take() extended the chain.
    [[nodiscard]] bool was_useful() const noexcept { return was_useful_; }

    /// Contents no longer needed.
    [[nodiscard]] std::vector<std::shared_ptr<const decoded_block>> take_freed() {
        return tree_.take_freed();
    }

    struct counters {
        std::uint64_t forks = 0;    ///< blocks with a sibling already known
        std::uint64_t switches = 0; ///< to another branch
        std::uint64_t popped = 0;   ///< blocks
        std::uint64_t rejected = 0; ///< blocks
        std::uint64_t useless = 0;  ///< blocks already known, or known to be bad
    };
    [[nodiscard]] counters so_far() const noexcept;

    /// Consecutive blocks of one sender that may be known or bad.
    static constexpr std::uint64_t useless_allowed = 10'000;
    /// Blocks of one sender that may be rejected before its next one that extends the chain.
    static constexpr std::uint64_t rejected_allowed = 10;
    /// Switches that a sender may always cause; beyond these, the popped blocks may cost at most
    /// this many times as much as those it sent.
    static constexpr std::uint64_t switches_allowed = 16;
    static constexpr std::uint64_t max_taken_back = 4;

private:
    /// A sender's record over one connection.
    struct sender_record {
        std::uint64_t sender = 0;
        /// When the first block came after the last new and good one.
        std::optional<std::chrono::steady_clock::time_point> no_good_since;
        std::uint64_t useless = 0;  ///< consecutive
        std::uint64_t rejected = 0; ///< since the chain was extended
        std::uint64_t switches = 0;
        std::uint64_t cost_sent = 0; ///< of its blocks
        std::uint64_t cost_back = 0; ///< of the blocks popped for them
    };

    void begin_event(const block_source::event& event) noexcept;
    [[nodiscard]] std::optional<complaint> insert_all(block_source::event& event);
    void go_to_best();
    void reject(const std::string& why);
    [[nodiscard]] bool pop(std::size_t blocks);
    [[nodiscard]] std::optional<complaint> judge(fork_tree::outcome how, const block_place& parent,
                                                 const block_place& place);
    [[nodiscard]] std::optional<complaint> note_useless(const block_place& last);
    [[nodiscard]] std::optional<complaint> judge_conduct(const block_place& last) const;
    [[nodiscard]] complaint about_link(fork_tree::outcome how, const block_place& parent,
                                       const block_place& place) const;

    followed_chain& chain_;
    fork_tree tree_;
    counters counters_;
    std::chrono::milliseconds progress_;
    sender_record sender_;
    std::chrono::steady_clock::time_point came_{}; ///< arrival of the current run
    std::string last_rejection_;
    message_limit rejections_{"rejected blocks"};
    bool was_useful_ = false;
    bool lacks_blocks_ = false; ///< popped blocks whose contents are lost
};

} // namespace chainbase::driver
