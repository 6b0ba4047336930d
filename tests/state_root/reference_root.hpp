#pragma once

#include <chainbase/sha256.hpp>
#include <chainbase/state_root/tree_hash.hpp>

#include <map>
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

} // namespace chainbase::test
