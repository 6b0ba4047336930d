#pragma once

#include <chainbase/state_root/id_tree.hpp>
#include <chainbase/state_root/sha256.hpp>

#include <tests/support/random_source.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

/// Digests as the format defines them, made by OpenSSL one after the other.
namespace chainbase::test {

[[nodiscard]] inline sha256_digest any_digest(random_source& random) {
    sha256_digest made{};
    for (std::byte& one : made)
        one = static_cast<std::byte>(random.below(256));
    return made;
}

/// SHA-256 of both, whatever they are.
[[nodiscard]] inline sha256_digest by_openssl(const sha256_digest& left,
                                              const sha256_digest& right) {
    sha256 hash;
    hash.add(left);
    hash.add(right);
    return hash.finish();
}

/// The leaves of a tree by their ids.
using leaves_by_id = std::map<std::uint64_t, sha256_digest>;

[[nodiscard]] inline unsigned defined_height(const leaves_by_id& of) {
    unsigned height = of.empty() ? 0 : 4;
    while (!of.empty() && of.rbegin()->first >> height != 0)
        height += 4;
    return height;
}

/// Level by level, as FORMAT.md says. `pair` hashes two digests of which one is not zeros.
template <typename Pair>
[[nodiscard]] sha256_digest defined_root(leaves_by_id level, Pair pair) {
    for (unsigned left = defined_height(level); left != 0; --left) {
        leaves_by_id above;
        for (const auto& [id, digest] : level)
            above[id / 2];
        for (auto& [id, digest] : above)
            digest = pair(level[2 * id], level[2 * id + 1]);
        level = above;
    }
    return level.empty() ? state_root::no_digest : level.begin()->second;
}
[[nodiscard]] inline sha256_digest defined_root(const leaves_by_id& of) {
    return defined_root(of, by_openssl);
}

/// The root of a state, by the leaves of each type that it commits to.
[[nodiscard]] inline sha256_digest
defined_state_root(const std::map<std::string, leaves_by_id>& types) {
    leaves_by_id all;
    for (const auto& [name, leaves] : types) {
        const std::uint64_t number = all.size();
        all[number] = state_root::sealed(defined_height(leaves), defined_root(leaves), name);
    }
    return state_root::sealed(defined_height(all), defined_root(all), {});
}

} // namespace chainbase::test
