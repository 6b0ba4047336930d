#include <chainbase/state_root/tree_hash.hpp>
#include <chainbase/state_root/whole_root.hpp>

#include <algorithm>
#include <span>

namespace chainbase::state_root {

namespace {

sha256_digest digest_of(std::span<const whole_leaf> leaves, unsigned level, tree_hash& hash) {
    if (leaves.size() == 1 && level > 0) return leaves.front().leaf;
    std::uint16_t branches = 0;
    std::vector<sha256_digest> children;
    each_digit(leaves, level, [&](unsigned digit, std::span<const whole_leaf> below) {
        branches = static_cast<std::uint16_t>(branches | 1u << digit);
        children.push_back(digest_of(below, level + 1, hash));
    });
    return hash.node(branches, children);
}

} // namespace

sha256_digest root_of(std::vector<whole_leaf> leaves) {
    if (leaves.empty()) return {};
    std::ranges::sort(leaves, {}, &whole_leaf::key);
    tree_hash hash;
    return digest_of(leaves, 0, hash);
}

} // namespace chainbase::state_root
