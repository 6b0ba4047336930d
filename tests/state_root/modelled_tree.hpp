#pragma once

#include <chainbase/database.hpp>
#include <chainbase/state_root/merkle_tree.hpp>
#include <chainbase/state_root/sha256.hpp>
#include <chainbase/state_root/tree_hash.hpp>
#include <pool_allocator/base/thread_pool.hpp>

#include <tests/support/mismatch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::test {

/// What a tree has to commit to: leaves by their keys.
using reference_leaves = std::map<sha256_digest, sha256_digest>;

/// The root by the definition alone, from the first leaf to the last.
[[nodiscard]] inline sha256_digest reference_root(const reference_leaves& leaves) {
    using leaf = std::pair<sha256_digest, sha256_digest>;
    struct by_definition {
        static sha256_digest of(const std::vector<leaf>& all, unsigned level) {
            if (all.size() == 1 && level > 0) return all.front().second;
            std::uint16_t branches = 0;
            std::vector<std::byte> parts;
            const auto add = [](std::vector<std::byte>& to, const sha256_digest& one) {
                to.insert(to.end(), one.begin(), one.end());
            };
            std::vector<sha256_digest> children[4];
            for (unsigned digit = 0; digit < 16; ++digit) {
                std::vector<leaf> below;
                for (const leaf& one : all)
                    if (state_root::digit(one.first, level) == digit) below.push_back(one);
                if (below.empty()) continue;
                branches = static_cast<std::uint16_t>(branches | 1u << digit);
                children[digit / 4].push_back(of(below, level + 1));
            }
            const bool is_flat = __builtin_popcount(branches) <= 8;
            for (const auto& group : children) {
                if (is_flat || group.size() == 1) {
                    for (const sha256_digest& one : group)
                        add(parts, one);
                } else if (!group.empty()) {
                    std::vector<std::byte> of_group{std::byte(2)};
                    for (const sha256_digest& one : group)
                        add(of_group, one);
                    add(parts, sha256().of(of_group));
                }
            }
            std::vector<std::byte> node{std::byte(1), static_cast<std::byte>(branches),
                                        static_cast<std::byte>(branches >> 8)};
            node.insert(node.end(), parts.begin(), parts.end());
            return sha256().of(node);
        }
    };
    if (leaves.empty()) return {};
    return by_definition::of({leaves.begin(), leaves.end()}, 0);
}

/// A tree over objects of two types that are nowhere else, and what it was told of them.
class modelled_tree {
public:
    explicit modelled_tree(database& db) : tree_(db) {
        if (tree_.type_numbers().empty()) reset(); // else it is opened again
    }
    void reset() {
        tree_.reset({std::begin(names), std::end(names)});
        leaves_.clear();
    }

    static constexpr const char* names[] = {"account", "post"};

    /// The digest of an object's record, which is a number here.
    [[nodiscard]] sha256_digest content(std::uint64_t number) {
        const std::string record = std::to_string(number);
        return hash_.content(std::as_bytes(std::span(record)));
    }
    [[nodiscard]] state_root::leaf_change exists(std::uint16_t type, std::uint32_t id,
                                                 std::uint64_t number) {
        const sha256_digest key = key_of(type, id);
        return {key, hash_.leaf(key, content(number)), id, type, true};
    }
    [[nodiscard]] state_root::leaf_change gone(std::uint16_t type, std::uint32_t id) {
        return {key_of(type, id), {}, id, type, false};
    }
    /// An id whose objects of both types have keys that begin alike.
    [[nodiscard]] std::uint32_t id_of_two() {
        std::uint32_t id = 0;
        while (state_root::digit(exists(0, id, 1).key, 0) !=
               state_root::digit(exists(1, id, 1).key, 0))
            ++id;
        return id;
    }
    void update(const std::vector<state_root::leaf_change>& changes, thread_pool* pool = nullptr) {
        for (const state_root::leaf_change& one : changes) {
            if (one.exists)
                leaves_[one.key] = one.leaf;
            else
                leaves_.erase(one.key);
        }
        tree_.update(changes, pool);
    }

    void require_right() const {
        expect(tree_.size() == leaves_.size(), "the number of leaves");
        expect(tree_.root() == reference_root(leaves_), "another root than the definition's");
    }
    void require_sound() const {
        expect(tree_.size() == leaves_.size(), "the number of leaves");
        require_nodes();
    }
    /// Every node is in the tree or free, and the leaves are as many as the tree says.
    void require_nodes() const {
        const state_root::tree_shape shape = state_root::tree_shape::of(tree_.nodes());
        expect(shape.leaves == tree_.size(), "the leaves of all nodes");
        for (unsigned number = 0; number < state_root::capacities.size(); ++number)
            expect(shape.nodes_by_capacity[number] + shape.free_by_capacity[number] ==
                       tree_.nodes().made(number),
                   "nodes that are neither in the tree nor free");
    }

    [[nodiscard]] const state_root::merkle_tree& tree() const noexcept { return tree_; }
    [[nodiscard]] reference_leaves& leaves() noexcept { return leaves_; }

private:
    sha256_digest key_of(std::uint16_t type, std::uint32_t id) {
        return hash_.key(names[type], id);
    }

    state_root::merkle_tree tree_;
    state_root::tree_hash hash_;
    reference_leaves leaves_;
};

/// A tree in a state of its own.
struct modelled_tree_state {
    scratch_folder folder;
    database db{folder / "state", quick_options()};
    modelled_tree told{db};
};

/// Less than `most` objects with ids below `ids`, half of which are gone then.
inline std::vector<state_root::leaf_change> random_changes(modelled_tree& of, random_source& random,
                                                           std::uint64_t ids,
                                                           std::uint32_t most = 60) {
    std::map<std::pair<std::uint16_t, std::uint32_t>, state_root::leaf_change> changes;
    for (std::uint32_t count = random.below(most); count != 0; --count) {
        const auto type = static_cast<std::uint16_t>(random.below(2));
        const std::uint32_t id = random.below(static_cast<std::uint32_t>(ids));
        changes.insert_or_assign({type, id}, random.chance(550)
                                                 ? of.exists(type, id, random.below(3))
                                                 : of.gone(type, id));
    }
    std::vector<state_root::leaf_change> all;
    for (const auto& [object, change] : changes)
        all.push_back(change);
    return all;
}

} // namespace chainbase::test
