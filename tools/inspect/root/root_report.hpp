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

/// Nodes of a tree by the number of their children; [0] is of no meaning.
using children_histogram = std::array<std::uint64_t, state_root::branches_per_node + 1>;

/// Sizes of the arrays in which nodes keep their children.
struct array_sizes {
    /// What a child takes in an array of the XRP Ledger, whose published figures are counted by it:
    /// a digest of 32 bytes, and a reference with what belongs to it. All sizes are multiples of
    /// it, so that it cancels out of the ratio.
    static constexpr unsigned bytes_per_child = 38;

    std::vector<unsigned> sizes; ///< rising, below 16: the other one is always 16
    /// Bytes of the arrays, each node with the smallest that its children fit, against arrays that
    /// are all of 16; 1 if there are no nodes.
    double ratio = 1;

    /// Of `nodes` with these sizes. Requires that they rise and are 1 to 15.
    [[nodiscard]] static array_sizes of(const children_histogram& nodes,
                                        std::vector<unsigned> sparse);
    /// The best set of `count` sizes below 16, of all that there are; of several, the first in the
    /// order of their numbers. Requires count < 16.
    [[nodiscard]] static array_sizes best(const children_histogram& nodes, unsigned count);
};

/// Something that is not as the root of a state says, or not as a tree has to be.
struct root_fault {
    enum class kind : std::uint8_t {
        tree,          ///< the tree as a whole: its head, its types, its free nodes
        node,          ///< a node: `type` and `id` are its own
        unreadable,    ///< an object that cannot be read
        other_content, ///< an object whose content is not what the root commits to
        not_in_root,   ///< an object that the root does not commit to
        not_in_state,  ///< one that it commits to, and that is not there
    };
    static constexpr std::array<std::string_view, 6> names{
        "tree", "node", "unreadable", "other_content", "not_in_root", "not_in_state"};

    kind what = kind::tree;
    std::string type;
    std::uint32_t id = 0;
    std::string text{};       ///< what is wrong with it
    bool is_archived = false; ///< the object is in the archive only
    std::string row{};        ///< of an object: what is there, as JSON; empty: nothing, or unknown
};

/// Faults: all are counted, and the first of each kind named. One thread at a time.
class root_faults {
public:
    static constexpr std::size_t kinds = root_fault::names.size();

    /// `limit`: how many of each kind are named at most; 0: all.
    explicit root_faults(std::uint64_t limit) : limit_(limit) {}

    void add(root_fault one);
    /// Behind those that are here.
    void add(root_faults&& others);

    [[nodiscard]] std::uint64_t count(root_fault::kind what) const noexcept {
        return counts_[static_cast<std::size_t>(what)];
    }
    [[nodiscard]] std::uint64_t total() const noexcept;
    /// By kind, and as they were added.
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

/// The root of a state, and the tree below it, through the catalogue alone.
struct root_report {
    /// A type whose objects the root commits to.
    struct type {
        std::string name;
        std::uint64_t objects = 0;
    };
    /// What --verify found.
    struct verification {
        std::uint64_t objects = 0;
        std::uint64_t archived_objects = 0; ///< of these, those that are in the archive only
        std::uint64_t nodes = 0;
        root_faults faults;
    };
    struct question {
        bool verify = false;
        unsigned threads = 2;
        std::uint64_t limit = 20; ///< faults of each kind that are named; 0: all
    };
    /// Of a node that has room for all children, and keeps no digests of groups.
    static constexpr std::uint64_t dense_node_bytes =
        state_root::node_view::groups_at(state_root::branches_per_node);
    using by_capacity = std::array<std::uint64_t, state_root::capacities.size()>;

    std::int64_t revision = 0;
    bool is_rolled_back = false;
    /// The state changed each time that its nodes were gone through: `types` and what is below that
    /// is not known.
    bool has_moved = false;
    std::string root;                ///< 64 hexadecimal digits; empty: not known either
    std::int64_t root_revision = -1; ///< of the state when the root was brought up to date
    std::uint64_t objects = 0;       ///< that it commits to, as the tree's head says
    std::vector<type> types;         ///< by name, with the leaves that the nodes have
    children_histogram nodes_by_children{};
    by_capacity nodes{};
    by_capacity free{};
    std::optional<verification> verified;

    /// Whether the root is that of the state as it is now.
    [[nodiscard]] bool is_current() const noexcept { return root_revision == revision; }
    /// Current, verified and without a fault.
    [[nodiscard]] bool is_sound() const noexcept {
        return verified && is_current() && verified->faults.total() == 0;
    }
    [[nodiscard]] std::uint64_t all_nodes() const noexcept;
    /// Objects that the nodes have.
    [[nodiscard]] std::uint64_t leaves() const noexcept;
    /// Of the nodes of the tree; of those that are free.
    [[nodiscard]] std::uint64_t bytes() const noexcept;
    [[nodiscard]] std::uint64_t free_bytes() const noexcept;
    /// If all nodes of the tree had arrays of 16: dense_node_bytes each.
    [[nodiscard]] std::uint64_t dense_bytes() const noexcept;
    /// Of tree and free nodes; 0 if there are no objects.
    [[nodiscard]] double bytes_per_object() const noexcept;
    /// bytes() against dense_bytes(); 1 if there are no nodes.
    [[nodiscard]] double dense_ratio() const noexcept;

    /// The best 0 to 5 sizes of arrays below 16 for this many nodes of so many children.
    [[nodiscard]] std::vector<array_sizes> best_sizes() const;
    /// Those that the nodes have, if each had the smallest that its children fit.
    [[nodiscard]] array_sizes sizes_in_use() const;

    /// Looks in turns, beside a writer three times and for two seconds at least, until nothing
    /// changed while it looked; the root of a state that goes on changing is that of one moment.
    /// Throws usage_error when the state has no root, format_error when another version made it,
    /// damaged_error also when the archive lacks rows that the state handed over (only to verify),
    /// and what reading the state and its archive does.
    [[nodiscard]] static root_report of(const std::filesystem::path& state, const question& asked);
};

} // namespace chainbase::inspect
