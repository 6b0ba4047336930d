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
    while (!leaves.empty()) {
        const unsigned here = digit(leaves.front().key, level);
        const auto end = std::ranges::find_if(
            leaves, [&](const whole_leaf& one) { return digit(one.key, level) != here; });
        const auto count = static_cast<std::size_t>(end - leaves.begin());
        branches = static_cast<std::uint16_t>(branches | 1u << here);
        children.push_back(digest_of(leaves.first(count), level + 1, hash));
        leaves = leaves.subspan(count);
    }
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
