#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

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
    std::string text;         ///< what is wrong with it
    bool is_archived = false; ///< the object is in the archive only
    std::string row;          ///< of an object: what is there, as JSON; empty: nothing, or unknown
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

} // namespace chainbase::inspect
