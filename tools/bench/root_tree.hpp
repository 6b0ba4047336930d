#pragma once

#include <chainbase/database.hpp>
#include <chainbase/state_root/helpers.hpp>
#include <chainbase/state_root/merkle_tree.hpp>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace chainbase::bench {

/// The objects that a tree commits to: there are none but in here, as a version each, so that what
/// is measured is the tree alone.
class versioned_objects {
public:
    static constexpr std::string_view type = "account";

    explicit versioned_objects(std::uint32_t count) : versions_(count) {}

    [[nodiscard]] std::uint32_t count() const noexcept {
        return static_cast<std::uint32_t>(versions_.size());
    }
    /// The digest of the record of an object as it is.
    [[nodiscard]] sha256_digest content(std::uint32_t id);
    /// The leaf of an object as it is; `number` is that of its type in the tree.
    [[nodiscard]] state_root::leaf_change leaf(std::uint32_t id, std::uint16_t number);
    /// Changes an object.
    void change(std::uint32_t id) noexcept { ++versions_[id]; }
    /// All of them as they are.
    [[nodiscard]] std::vector<state_root::whole_leaf> leaves();

private:
    std::vector<std::uint32_t> versions_;
    state_root::tree_hash hash_;
};

/// A tree in a state of its own.
class root_tree {
public:
    explicit root_tree(const std::filesystem::path& state);
    /// Its files are removed, so nothing is to be written to them any more.
    ~root_tree() { state_.abandon(); }

    /// Adds all objects, in parts as when a state's root is made anew. Returns the ns that the tree
    /// took, without making the leaves. `helping` may be null. Throws error when interrupted.
    double build(versioned_objects& objects, state_root::helpers* helping);
    /// Brings the tree up to date as a block of its own, which is pushed and committed.
    void apply_block(std::vector<state_root::leaf_change> changes, state_root::helpers* helping);

    [[nodiscard]] std::uint16_t type_number() const noexcept { return number_; }
    [[nodiscard]] const state_root::merkle_tree& tree() const noexcept { return tree_; }
    /// What the state holds for the tree: all files of its types.
    [[nodiscard]] std::uint64_t held_bytes() const;

private:
    database state_;
    state_root::merkle_tree tree_;
    std::uint16_t number_;
};

} // namespace chainbase::bench
