#pragma once

#include <tools/chains/decoded_block.hpp>
#include <tools/driver/chain_state.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

/// The tree of blocks above the irreversible one: which branch is best, and how to get there.
///
///     root -- a -- b -- c          the head (applied) is c; the best is z, so the way there is:
///              \__ x -- y -- z     pop c and b, apply x, y and z
///
/// Invariants: (1) every block is linked to the root, the last irreversible one, and the head is
/// among them; (2) the best block is the one with the most ancestors, of several the first that
/// came; no block of its branch is known to be bad; (3) the head has at most `lag` blocks above the
/// root: applying one more makes the oldest the root, and blocks that do not descend from it are
/// removed; (4) blocks, bytes and remembered bad ids are bounded, whoever sends them.
///
/// Does not depend on the content of blocks. For one thread.
class fork_tree {
public:
    struct limits {
        std::size_t blocks = 10'000;                ///< unapplied
        std::size_t bytes = std::size_t{256} << 20; ///< of these
        std::size_t bad_blocks = 1000;              ///< remembered
    };

    /// A block to insert.
    struct incoming {
        block_place parent;
        block_place place;
        std::shared_ptr<const decoded_block> content;
        std::uint64_t source = 0; ///< its sender
    };

    enum class outcome {
        added,
        known,         ///< already in the tree
        bad,           ///< known to be bad, or descends from a bad one
        unlinked,      ///< its parent is missing
        below_root,    ///< its parent is older than the root, or beside it
        wrong_numbers, ///< its number is not above its parent's, or the parent has another one
        full,          ///< the limit of unapplied blocks is reached
    };

    /// `applied`: the root, then the applied blocks above it, without their contents.
    fork_tree(const std::vector<block_place>& applied, std::size_t lag, limits bounds);
    fork_tree(const std::vector<block_place>& applied, std::size_t lag);

    [[nodiscard]] outcome insert(incoming block);

    /// The pops and blocks that lead to the best branch.
    struct way {
        std::size_t pops = 0;                    ///< blocks to pop first
        std::vector<const decoded_block*> apply; ///< then, in this order
    };
    /// Nothing when the head is the best block.
    [[nodiscard]] std::optional<way> to_best() const;

    /// @name Progress on the path
    /// @{

    /// The next block of the path was applied: it is the head.
    void applied();
    /// The head was popped: its parent is the head. A block without content is removed with its
    /// descendants, to be requested again. Returns whether the content is known.
    bool popped();
    /// The next block of the path is bad: removes it and its descendants and remembers their ids.
    /// Returns its source.
    std::uint64_t reject(const std::string& reason);
    /// @}

    /// Removes the unapplied blocks of a source.
    void forget_from(std::uint64_t source);
    /// Removes all unapplied blocks.
    void forget_waiting();
    /// Whether another source's blocks are waiting to be applied.
    [[nodiscard]] bool has_waiting_of_others(std::uint64_t source) const;

    /// Contents no longer needed, to be freed elsewhere.
    [[nodiscard]] std::vector<std::shared_ptr<const decoded_block>> take_freed();

    [[nodiscard]] const block_place& root() const noexcept { return root_->place; }
    [[nodiscard]] const block_place& head() const noexcept { return head_->place; }
    /// Content of the head; null when it was applied before this tree was made.
    [[nodiscard]] std::shared_ptr<const decoded_block> head_content() const {
        return head_->content;
    }
    [[nodiscard]] const block_place& best() const noexcept { return best_->place; }
    [[nodiscard]] bool has(const block_id& id) const { return nodes_.contains(id); }
    /// Why a block is known to be bad; nothing when it is not.
    [[nodiscard]] std::optional<std::string> bad(const block_id& id) const;
    [[nodiscard]] const limits& bounds() const noexcept { return bounds_; }
    /// Unapplied blocks.
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
    /// Blocks with a sibling already known.
    [[nodiscard]] std::uint64_t forks() const noexcept { return forks_; }

private:
    struct node {
        block_place place;
        node* parent = nullptr; ///< null: the root
        std::vector<node*> children;
        std::uint64_t height = 0;  ///< blocks from the first root to this one
        std::uint64_t arrival = 0; ///< order of arrival
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
    /// Removes a block and its descendants; calls look(node) for each.
    template <typename Look>
    void remove(node& top, Look look);
    void remove(node& top);
    void raise_root();
    void choose_best();

    limits bounds_;
    std::size_t lag_;
    // Ordered: peers could choose ids that collide in a hash table.
    std::map<block_id, std::unique_ptr<node>> nodes_;
    node* root_ = nullptr;
    node* head_ = nullptr;
    node* best_ = nullptr;
    std::uint64_t arrivals_ = 0;
    std::size_t waiting_ = 0;
    std::size_t waiting_bytes_ = 0;
    std::uint64_t forks_ = 0;
    std::map<block_id, std::string> bad_;
    std::deque<block_id> bad_by_age_;
    std::vector<std::shared_ptr<const decoded_block>> freed_;
};

} // namespace chainbase::driver
