#pragma once

#include <chainbase/state_root/node.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

/// Number of nodes by number of children; [0] is unused.
using children_histogram = std::array<std::uint64_t, state_root::branches_per_node + 1>;

/// Array sizes for the children of nodes.
struct array_sizes {
    /// Bytes per child in an array of the XRP Ledger, the base of its published figures: a digest
    /// of 32 bytes, and a reference with its data. All sizes are multiples of it, so it cancels out
    /// of the ratio.
    static constexpr unsigned bytes_per_child = 38;

    std::vector<unsigned> sizes; ///< rising, below 16: size 16 is always included
    /// Bytes of the arrays, with the smallest fitting array for each node, relative to arrays of 16
    /// for all; 1 without nodes.
    double ratio = 1;

    /// For `nodes` with these sizes. Requires that they rise and are 1 to 15.
    [[nodiscard]] static array_sizes of(const children_histogram& nodes,
                                        std::vector<unsigned> sparse);
    /// The best set of `count` sizes below 16, among all sets; the first in the order of their
    /// numbers if several are best. Requires count < 16.
    [[nodiscard]] static array_sizes best(const children_histogram& nodes, unsigned count);
};

/// A contradiction to the state's root, or to the invariants of the tree.
struct root_fault {
    enum class kind : std::uint8_t {
        tree,          ///< the tree as a whole: its head, its types, its free nodes
        node,          ///< a node, named by `type` and `id`
        unreadable,    ///< an unreadable object
        other_content, ///< an object whose content differs from the root
        not_in_root,   ///< an object missing in the root
        not_in_state,  ///< an object of the root missing in the state
    };
    static constexpr std::array<std::string_view, 6> names{
        "tree", "node", "unreadable", "other_content", "not_in_root", "not_in_state"};

    kind what = kind::tree;
    std::string type;
    std::uint32_t id = 0;
    std::string text{};       ///< the message
    bool is_archived = false; ///< the object is only in the archive
    std::string row{};        ///< the object as JSON; empty: missing, or unknown
};

/// A list of faults: counts all, and keeps the first of each kind. One thread at a time.
class root_faults {
public:
    static constexpr std::size_t kinds = root_fault::names.size();

    /// `limit`: how many of each kind are kept; 0: all.
    explicit root_faults(std::uint64_t limit) : limit_(limit) {}

    void add(root_fault one);
    /// Appends other faults.
    void add(root_faults&& others);

    [[nodiscard]] std::uint64_t count(root_fault::kind what) const noexcept {
        return counts_[static_cast<std::size_t>(what)];
    }
    [[nodiscard]] std::uint64_t total() const noexcept;
    /// The kept faults of a kind, in the order added.
    [[nodiscard]] const std::vector<root_fault>& named(root_fault::kind what) const noexcept {
        return named_[static_cast<std::size_t>(what)];
    }
    [[nodiscard]] std::vector<root_fault>& named(root_fault::kind what) noexcept {
        return named_[static_cast<std::size_t>(what)];
    }
    [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }

private:
    [[nodiscard]] bool has_room(root_fault::kind what) const noexcept {
        return limit_ == 0 || named(what).size() < limit_;
    }

    std::uint64_t limit_;
    std::array<std::uint64_t, kinds> counts_{};
    std::array<std::vector<root_fault>, kinds> named_;
};

/// The root of a state and its tree, read through the catalogue alone.
struct root_report {
    /// A type whose objects the root commits to.
    struct type {
        std::string name;
        std::uint64_t objects = 0;
    };
    /// The result of --verify.
    struct verification {
        std::uint64_t objects = 0;
        std::uint64_t archived_objects = 0; ///< of these, the ones that are only in the archive
        std::uint64_t nodes = 0;
        root_faults faults;
    };
    struct question {
        bool verify = false;
        unsigned threads = 2;
        std::uint64_t limit = 20; ///< kept faults of each kind; 0: all
    };
    /// Size of a node with places for all children, without group digests.
    static constexpr std::uint64_t dense_node_bytes =
        state_root::node_view::groups_at(state_root::branches_per_node);
    using by_capacity = std::array<std::uint64_t, state_root::capacities.size()>;

    std::int64_t revision = 0;
    bool is_rolled_back = false;
    /// The state changed during every attempt to read its nodes: `types` and the members below are
    /// unknown.
    bool has_moved = false;
    std::string root;                ///< 64 hexadecimal digits; empty: unknown, too
    std::int64_t root_revision = -1; ///< the state's revision at the last update of the root
    std::uint64_t objects = 0;       ///< committed objects, according to the tree's head
    std::vector<type> types;         ///< by name, with the number of leaves in the nodes
    children_histogram nodes_by_children{};
    by_capacity nodes{};
    by_capacity free{};
    std::optional<verification> verified;

    /// Whether the root matches the current state.
    [[nodiscard]] bool is_current() const noexcept { return root_revision == revision; }
    /// Current, verified and without a fault.
    [[nodiscard]] bool is_sound() const noexcept {
        return verified && is_current() && verified->faults.total() == 0;
    }
    [[nodiscard]] std::uint64_t all_nodes() const noexcept;
    /// Objects in the nodes.
    [[nodiscard]] std::uint64_t leaves() const noexcept;
    /// Bytes of the tree's nodes, and of the free ones.
    [[nodiscard]] std::uint64_t bytes() const noexcept;
    [[nodiscard]] std::uint64_t free_bytes() const noexcept;
    /// Bytes if all nodes of the tree had arrays of 16: dense_node_bytes each.
    [[nodiscard]] std::uint64_t dense_bytes() const noexcept;
    /// Of tree and free nodes; 0 without objects.
    [[nodiscard]] double bytes_per_object() const noexcept;
    /// bytes() relative to dense_bytes(); 1 without nodes.
    [[nodiscard]] double dense_ratio() const noexcept;

    /// The best 0 to 5 array sizes below 16 for these nodes.
    [[nodiscard]] std::vector<array_sizes> best_sizes() const;
    /// The current sizes, if each node had its smallest fitting one.
    [[nodiscard]] array_sizes sizes_in_use() const;

    /// Reads in turns, beside a writer at least three times and for two seconds, until nothing
    /// changed during an attempt; for a state that keeps changing, the root is that of one moment.
    /// Throws usage_error when the state has no root, format_error when another version made it,
    /// damaged_error also when the archive lacks rows that the state handed over (only to verify),
    /// and what reading the state and its archive throws.
    [[nodiscard]] static root_report of(const std::filesystem::path& state, const question& asked);
};

} // namespace chainbase::inspect
