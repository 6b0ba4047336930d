#pragma once

#include <chainbase/state_root/draft.hpp>
#include <chainbase/state_root/helpers.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

namespace chainbase::state_root {

/// The changes of many objects at once, on their way into a tree: first made out, in all branches
/// of the root at the same time; then written.
class tree_update {
public:
    /// Makes out what changes. `changes` are in the order of their keys, no two of one key, and
    /// must outlive this; so must the tree, as it is, until write(). `helping` may be null. Throws
    /// what drafter::replace throws.
    tree_update(const node_store& tree, std::span<const leaf_change> changes, helpers* helping);
    ~tree_update();
    tree_update(const tree_update&) = delete;
    tree_update& operator=(const tree_update&) = delete;

    /// The nodes that write() takes, by capacity.
    [[nodiscard]] const std::array<std::uint32_t, capacities.size()>& needed() const noexcept {
        return needed_;
    }
    /// Writes the nodes and the head. Within node_store::apply, after
    /// node_store::reserve(needed()).
    void write(node_store& tree);

private:
    struct branch;

    void divide(std::span<const leaf_change> changes);
    void assemble_root();
    node_ref write(node_store& tree, const node_draft& draft);

    const node_store& tree_;
    std::vector<std::unique_ptr<branch>> branches_;
    std::pmr::monotonic_buffer_resource memory_;
    drafter making_;
    child_draft root_;
    std::array<std::uint32_t, capacities.size()> needed_{};
};

} // namespace chainbase::state_root
