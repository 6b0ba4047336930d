#pragma once

#include <tools/chains/decoded_block.hpp>
#include <tools/driver/chain_state.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace chainbase::driver {

/// The blocks above the irreversible one, linked: which branch is the best, and how to get there.
///
///     root -- a -- b -- c          the head (applied) is c; the best is z, so the way there is:
///              \__ x -- y -- z     pop c and b, apply x, y and z
///
/// Invariants: (1) every block is linked to the root, the last irreversible one, and the head is
/// among them; (2) the best is the one with the most blocks before it, of several the one that came
/// first; no block of its branch is known to be bad; (3) the head has at most `lag` blocks above
/// the root: who applies one more makes the oldest the root, and what does not descend from that is
/// forgotten; (4) blocks, bytes and remembered bad ids are bounded, whoever sends them.
///
/// Knows nothing of what a block holds. For one thread.
class fork_tree {
public:
    struct limits {
        std::size_t blocks = 10'000;                ///< that are not applied
        std::size_t bytes = std::size_t{256} << 20; ///< that they take
        std::size_t bad_blocks = 1000;              ///< that are remembered
    };

    /// A block on its way in.
    struct incoming {
        block_place parent;
        block_place place;
        std::shared_ptr<const decoded_block> content;
        std::uint64_t source = 0; ///< who sent it
    };

    enum class outcome {
        added,
        known,         ///< it is here already
        bad,           ///< it is known to be bad, or follows one that is
        unlinked,      ///< its parent is not here
        below_root,    ///< its parent is older than the root, or beside it
        wrong_numbers, ///< its number is not above its parent's, or the parent has another one
        full,          ///< no room beside the applied blocks
    };

    /// `applied`: the root, then the applied blocks above it, whose contents are not here.
    fork_tree(const std::vector<block_place>& applied, std::size_t lag, limits bounds);
    fork_tree(const std::vector<block_place>& applied, std::size_t lag);

    [[nodiscard]] outcome insert(incoming block);

    /// What to do to get to the best branch.
    struct way {
        std::size_t pops = 0;                    ///< blocks to take back first
        std::vector<const decoded_block*> apply; ///< then, in this order
    };
    /// Nothing when the head is the best.
    [[nodiscard]] std::optional<way> to_best() const;

    /// @name What was done on the way
    /// @{

    /// The next block of the way was applied: it is the head.
    void applied();
    /// The head was taken back: its parent is the head. A block whose content is not here is
    /// forgotten then, with all that descends from it: to be asked for again. Returns whether the
    /// content is here.
    bool popped();
    /// The next block of the way is bad: it and all that descend from it are forgotten, but their
    /// ids. Returns its source.
    std::uint64_t reject(const std::string& reason);
    /// @}

    /// Forgets what a source has sent and is not applied.
    void forget_from(std::uint64_t source);
    /// Forgets all that is not applied.
    void forget_waiting();
    /// Whether another source has sent something that is not applied.
    [[nodiscard]] bool has_waiting_of_others(std::uint64_t source) const;

    /// Contents that are not needed any more, for who frees them.
    [[nodiscard]] std::vector<std::shared_ptr<const decoded_block>> take_freed();

    [[nodiscard]] const block_place& root() const noexcept { return root_->place; }
    [[nodiscard]] const block_place& head() const noexcept { return head_->place; }
    /// Of the head; null when it was applied before this tree was made.
    [[nodiscard]] std::shared_ptr<const decoded_block> head_content() const {
        return head_->content;
    }
    [[nodiscard]] const block_place& best() const noexcept { return best_->place; }
    [[nodiscard]] bool has(const block_id& id) const { return nodes_.contains(id); }
    /// Why a block is known to be bad; nothing when it is not.
    [[nodiscard]] std::optional<std::string> bad(const block_id& id) const;
    [[nodiscard]] const limits& bounds() const noexcept { return bounds_; }
    /// Blocks that are not applied.
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
    /// Blocks that came beside another with the same parent.
    [[nodiscard]] std::uint64_t forks() const noexcept { return forks_; }

private:
    struct node {
        block_place place;
        node* parent = nullptr; ///< null: the root
        std::vector<node*> children;
        std::uint64_t height = 0;  ///< blocks of the chain up to it, from the first root on
        std::uint64_t arrival = 0; ///< the how manieth it came
        std::uint64_t source = 0;
        bool is_applied = false;
        std::shared_ptr<const decoded_block> content;
    };

    node& add(const block_place& place, node* parent);
    [[nodiscard]] std::vector<node*> path_to_best() const;
    [[nodiscard]] node* next_on_the_way() const;
    [[nodiscard]] outcome may_follow(const incoming& block, node*& parent) const;
    void count_waiting(const node& one, bool in) noexcept;
    void remember_bad(const block_id& id, const std::string& reason);
    /// Takes a block and all that descend from it out; calls look(node) for each.
    template <typename Look>
    void remove(node& top, Look look);
    void remove(node& top);
    void raise_root();
    void choose_best();

    limits bounds_;
    std::size_t lag_;
    std::unordered_map<block_id, std::unique_ptr<node>> nodes_;
    node* root_ = nullptr;
    node* head_ = nullptr;
    node* best_ = nullptr;
    std::uint64_t arrivals_ = 0;
    std::size_t waiting_ = 0;
    std::size_t waiting_bytes_ = 0;
    std::uint64_t forks_ = 0;
    std::unordered_map<block_id, std::string> bad_;
    std::deque<block_id> bad_by_age_;
    std::vector<std::shared_ptr<const decoded_block>> freed_;
};

} // namespace chainbase::driver
