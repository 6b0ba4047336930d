#pragma once

#include <chainbase/state_root/node.hpp>
#include <tools/inspect/root/array_sizes.hpp>
#include <tools/inspect/root/root_faults.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

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

/// As `chainbase-inspect root` prints it.
[[nodiscard]] std::string as_text(const root_report& found, const std::string& state);
[[nodiscard]] std::string as_json(const root_report& found, const std::string& state);

} // namespace chainbase::inspect
