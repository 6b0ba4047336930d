#pragma once

#include <archive/store.hpp>
#include <chainbase/state_root/sha256.hpp>
#include <chainbase/state_root/tree_hash.hpp>
#include <tools/inspect/root/read_only_tree.hpp>
#include <tools/inspect/root/root_report.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// A bit set of ids below a limit. Thread-safe.
class id_set {
public:
    explicit id_set(std::uint32_t end = 0) : end_(end), words_((std::size_t{end} + 63) / 64) {}

    /// Returns whether the id was new. Requires id < end.
    bool add(std::uint32_t id) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << id % 64;
        return (words_[id / 64].fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
    }
    [[nodiscard]] bool contains(std::uint32_t id) const noexcept {
        return id < end_ && (words_[id / 64].load(std::memory_order_relaxed) >> id % 64 & 1) != 0;
    }

private:
    std::uint32_t end_;
    std::vector<std::atomic<std::uint64_t>> words_;
};

/// Checks that the nodes form one tree: every digest is that of its children, every node except the
/// free ones has one parent, and the free ones are those in the tree's lists. So nothing in them
/// can have changed by itself; object_check checks that the leaves are those of the objects.
class node_check {
public:
    explicit node_check(unchanging_state& state) : state_(state) {}

    /// Checks all nodes in `threads` threads and adds the faults. Throws state_changed, and what
    /// reading throws.
    void run(unsigned threads, root_faults& to);

    /// @name After run()
    /// @{
    [[nodiscard]] std::uint64_t nodes() const noexcept { return nodes_; }
    /// Of all nodes, including those outside of the tree.
    [[nodiscard]] std::uint64_t leaves() const noexcept { return leaves_; }
    /// Whether its digest differs from its parent's entry.
    [[nodiscard]] bool is_damaged(state_root::node_ref node) const {
        return damaged_.contains(node.bits());
    }
    /// @}

private:
    struct piece;

    void make_sets();
    void check_node(const read_only_tree& tree, state_root::node_ref at,
                    const state_root::node_view& node, piece& to);
    void check_groups(state_root::node_ref at, const state_root::node_view& node, piece& to);
    void check_child(const read_only_tree& tree, state_root::node_ref parent, unsigned digit,
                     const state_root::child& child, piece& to);
    void check_root(root_faults& to);
    void check_parents(node_range range, root_faults& to);
    void check_free_nodes(unsigned capacity_class, root_faults& to);

    unchanging_state& state_;
    std::vector<id_set> has_parent_; ///< by capacity
    std::vector<id_set> is_free_;
    std::array<std::uint64_t, state_root::capacities.size()> free_{};
    std::uint64_t nodes_ = 0;
    std::uint64_t leaves_ = 0;
    std::set<std::uint32_t> damaged_;
    std::mutex mutex_; ///< of damaged_
};

struct found_leaf;

/// Checks that the leaves of a tree are those of a state's objects, in memory and in the archive:
/// looks up each object in the tree and, if the tree has more leaves than were found, each leaf
/// among the objects.
class object_check {
public:
    /// `archive` may be null: there is none. `nodes` must have run. All must outlive it.
    object_check(unchanging_state& state, const archive::store* archive, const node_check& nodes)
        : state_(state), archive_(archive), nodes_(nodes) {}

    /// Checks all objects in `threads` threads and adds the faults. Throws state_changed,
    /// damaged_error when the archive lacks rows, and what reading throws.
    void run(unsigned threads, root_faults& to);

    /// @name After run()
    /// @{
    [[nodiscard]] std::uint64_t objects() const noexcept { return objects_; }
    /// Of these, the ones that are only in the archive.
    [[nodiscard]] std::uint64_t archived_objects() const noexcept { return archived_; }
    /// @}

private:
    struct type;
    struct piece;
    struct object;

    void check_type(std::uint16_t number, const std::string& name, unsigned threads,
                    root_faults& to);
    void read(type& of, std::uint32_t begin, std::uint32_t end, piece& to);
    void read_one_by_one(type& of, std::uint32_t begin, std::uint32_t end, piece& to);
    static void add_object(const type& of, const type_records::seen& one, piece& to);
    void look_up(const type& of, piece& to);
    void look_up_unreadable(const type& of, piece& to);
    void compare(const type& of, const std::optional<found_leaf>& found, std::size_t number,
                 piece& to);
    void check_leaves(root_faults& to);
    void check_leaf(state_root::node_ref at, unsigned digit, const state_root::child& leaf,
                    root_faults& to);

    unchanging_state& state_;
    const archive::store* archive_;
    const node_check& nodes_;
    std::map<std::uint16_t, std::string> types_;
    std::map<std::uint16_t, id_set> there_;  ///< objects, by their type's number
    std::map<std::uint16_t, id_set> leaves_; ///< ids whose leaf was seen, likewise
    std::uint64_t objects_ = 0;
    std::uint64_t archived_ = 0;
    std::uint64_t found_ = 0; ///< leaves found in the tree
};

} // namespace chainbase::inspect
