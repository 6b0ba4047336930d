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

/// What is moved along a branch, block by block: a state, or a node that keeps pending transactions
/// over one. For the thread that applies.
class followed_chain {
public:
    explicit followed_chain(chain_state& state) noexcept : state_(state) {}
    followed_chain(const followed_chain&) = delete;
    followed_chain& operator=(const followed_chain&) = delete;
    virtual ~followed_chain() = default;

    /// Applies the block that follows the head. Throws as chain_state::apply.
    virtual void apply(const decoded_block& next) { state_.apply(next); }
    /// Takes the head back. `last`: its content, or null when that is not known any more.
    virtual void pop(std::shared_ptr<const decoded_block> last) {
        static_cast<void>(std::move(last));
        state_.pop();
    }

    [[nodiscard]] const chain_state& state() const noexcept { return state_; }

protected:
    chain_state& state_;
};

/// Keeps a chain at the end of the longest branch of what it is given: applies blocks one session
/// each, pops to the common block when another branch gets longer, applies that one, and returns to
/// the first when a block of it is bad.
///
/// Invariants: (1) after each call the chain is at the best branch of the tree; (2) a block that is
/// bad is applied at most once while it is remembered; (3) a block that the chain cannot go back to
/// (from before this follower was made, and popped) is asked for again; (4) what a sender's blocks
/// cost is bounded by their bytes, whatever they hold: it is complained of when too many of them
/// are rejected, useless, or make the chain go back and forth.
///
/// For the thread that applies.
class chain_follower {
public:
    /// `lag`: the state's. `progress`: so long a sender may send nothing that is new and good.
    chain_follower(followed_chain& chain, std::size_t lag,
                   std::chrono::milliseconds progress = std::chrono::seconds(30),
                   fork_tree::limits bounds = {});

    /// What is wrong with what came, for who refuses its sender.
    struct complaint {
        peer_error::severity how;
        std::string what;
    };

    /// Applies what leads to the longest branch. Returns a complaint about the run's sender; what
    /// came before the fault stays applied. Throws what chain_state throws when not a block is to
    /// blame.
    [[nodiscard]] std::optional<complaint> take(block_source::event& event);

    /// The same about a sender that has no more: that its head is one that it never sent, or bad.
    [[nodiscard]] std::optional<complaint> judge_head(const block_source::event& event) const;
    /// The same about one that will never have more: that it ends before the last block that it
    /// said it has, or beside the head, so that the state's branch is no worse.
    [[nodiscard]] std::optional<complaint> judge_end(const block_source::event& event,
                                                     const block_place& promised) const;
    /// The same about one whose next block is beyond the number to stop at: that this follows a
    /// block that nobody has sent, or, again and again, another than the head.
    [[nodiscard]] std::optional<complaint> judge_beyond(const block_source::event& event,
                                                        std::uint64_t stop_at);

    /// To be called before a connection is asked for blocks: what others have sent and is not
    /// applied is forgotten, so that it takes no room from what comes. A peer sends all that
    /// follows the common block.
    void begin_connection() { tree_.forget_waiting(); }

    [[nodiscard]] const block_place& head() const noexcept { return tree_.head(); }

    /// Whether the blocks of take() took the chain further.
    [[nodiscard]] bool was_useful() const noexcept { return was_useful_; }

    /// Contents that are not needed any more.
    [[nodiscard]] std::vector<std::shared_ptr<const decoded_block>> take_freed() {
        return tree_.take_freed();
    }

    struct counters {
        std::uint64_t forks = 0;    ///< blocks that came beside another with the same parent
        std::uint64_t switches = 0; ///< to another branch
        std::uint64_t popped = 0;   ///< blocks
        std::uint64_t rejected = 0; ///< blocks
        std::uint64_t useless = 0;  ///< blocks that were known already, or known to be bad
    };
    [[nodiscard]] counters so_far() const noexcept;

    /// Blocks of one sender that may be known or bad, in a row.
    static constexpr std::uint64_t useless_allowed = 10'000;
    /// Blocks of one sender that may be rejected before the next one that makes the chain longer.
    static constexpr std::uint64_t rejected_allowed = 10;
    /// Switches that a sender may cause, whatever they cost; for more, the blocks that were taken
    /// back are at most so many times those that it has sent.
    static constexpr std::uint64_t switches_allowed = 16;
    static constexpr std::uint64_t most_taken_back = 4;

private:
    /// What a sender has done so far, over one connection.
    struct conduct {
        std::uint64_t sender = 0;
        /// When the first block came after the last that was new and good.
        std::optional<std::chrono::steady_clock::time_point> no_good_since;
        std::uint64_t useless = 0;  ///< in a row
        std::uint64_t rejected = 0; ///< since the chain got longer
        std::uint64_t switches = 0;
        std::uint64_t cost_sent = 0; ///< of its blocks
        std::uint64_t cost_back = 0; ///< of the blocks that were taken back for them
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
    conduct sender_;
    std::chrono::steady_clock::time_point came_{}; ///< what is looked at
    std::string last_rejection_;
    message_limit rejections_{"rejected blocks"};
    bool was_useful_ = false;
    bool lacks_blocks_ = false; ///< popped some whose contents are not here
};

} // namespace chainbase::driver
