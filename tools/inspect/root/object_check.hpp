#pragma once

#include <archive/store.hpp>
#include <chainbase/sha256.hpp>
#include <tools/inspect/root/node_check.hpp>
#include <tools/inspect/root/read_only_tree.hpp>
#include <tools/inspect/root/root_report.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace chainbase::inspect {

struct found_leaf;

/// Whether the leaves of a tree are those of the objects of a state, in memory and in the archive:
/// each object is looked up in the tree, and if that has more leaves than were found, each leaf
/// among the objects.
class object_check {
public:
    /// `archive` may be null: there is none. `nodes` has run. All outlive it.
    object_check(still_state& state, const archive::store* archive, const node_check& nodes)
        : state_(state), archive_(archive), nodes_(nodes) {}

    /// Looks at all objects, in so many threads; adds what is wrong. Throws moved_meanwhile,
    /// damaged_error when the archive lacks rows, and what reading does.
    void run(unsigned threads, root_faults& to);

    /// @name After run()
    /// @{
    [[nodiscard]] std::uint64_t objects() const noexcept { return objects_; }
    /// Of these, those that are in the archive only.
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

    still_state& state_;
    const archive::store* archive_;
    const node_check& nodes_;
    std::map<std::uint16_t, std::string> types_;
    std::map<std::uint16_t, id_set> there_;  ///< objects, by their type's number
    std::map<std::uint16_t, id_set> leaves_; ///< those of which a leaf was seen, likewise
    std::uint64_t objects_ = 0;
    std::uint64_t archived_ = 0;
    std::uint64_t found_ = 0; ///< in the tree
};

} // namespace chainbase::inspect
