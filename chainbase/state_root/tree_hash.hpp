#pragma once

#include <chainbase/state_root/node.hpp>
#include <chainbase/state_root/sha256.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace chainbase::state_root {

/// The levels that keys have digits for; the root is level 0.
inline constexpr unsigned max_levels = 64;

/// Defines the digests of the tree. All nodes of a chain must agree on it:
///
///     key     := SHA-256(03 id:u32 name)            where an object belongs, by its type's name
///     leaf    := SHA-256(00 key content)            content := SHA-256 of the object's record
///     node    := SHA-256(01 branches:u16 child*)    at most 8 children, in order
///              | SHA-256(01 branches:u16 group*)    more: of each four branches that have any
///     group   := child                              the only one of the four
///              | SHA-256(02 child*)                 else; which ones, the node's branches say
///     root    := node | 32 zeros, of a tree without objects
///
/// Integers are little-endian; bit i of `branches` says whether there is a child at digit i of the
/// keys below. Groups keep proofs short (three digests and three more, not fifteen, for a full
/// node) and full nodes cheap to change; a node that is not full is cheaper to hash as it is. The
/// first byte separates the domains, so a leaf cannot pass for a node or vice versa, and `branches`
/// binds a node's children to their places.
///
/// For one thread.
class tree_hash {
public:
    /// The key of the object `id` of the type called `type`.
    [[nodiscard]] sha256_digest key(std::string_view type, std::uint32_t id);
    [[nodiscard]] sha256_digest content(std::span<const std::byte> record) {
        return sha256_.of(record);
    }
    [[nodiscard]] sha256_digest leaf(const sha256_digest& key, const sha256_digest& content);
    /// Requires as many children as bits in `branches`, in order.
    [[nodiscard]] sha256_digest node(std::uint16_t branches,
                                     std::span<const sha256_digest> children);

    /// Whether a node hashes its children by groups.
    [[nodiscard]] static constexpr bool is_grouped(std::uint16_t branches) noexcept {
        return count_of(branches) > 8;
    }
    /// The branches of group `number`, below groups_per_node, as the lowest four bits.
    [[nodiscard]] static constexpr unsigned group_of(std::uint16_t branches,
                                                     unsigned number) noexcept {
        return branches >> (4 * number) & 15u;
    }
    /// Requires a child or more.
    [[nodiscard]] sha256_digest group(std::span<const sha256_digest> children);
    /// The digest of a node from its non-empty groups, in order, or from its children if it is not
    /// grouped.
    [[nodiscard]] sha256_digest node_of_parts(std::uint16_t branches,
                                              std::span<const sha256_digest> parts);

private:
    sha256 sha256_;
};

/// The digit of a key that selects the branch at a node of `level`.
[[nodiscard]] constexpr unsigned digit(const sha256_digest& key, unsigned level) noexcept {
    const auto byte = std::to_integer<unsigned>(key[level / 2]);
    return level % 2 == 0 ? byte >> 4 : byte & 15u;
}

/// Whether two keys have their first `digits` digits in common.
[[nodiscard]] constexpr bool begin_alike(const sha256_digest& first, const sha256_digest& second,
                                         unsigned digits) noexcept {
    for (unsigned level = 0; level < digits; ++level)
        if (digit(first, level) != digit(second, level)) return false;
    return true;
}

/// Calls visit(digit, those that have it there) for each digit of `level` that any of `sorted` has.
/// They have a member `key`, in whose order they are, and agree in the digits above.
template <typename T, typename Visitor>
void each_digit(std::span<const T> sorted, unsigned level, Visitor&& visit) {
    while (!sorted.empty()) {
        const unsigned here = digit(sorted.front().key, level);
        const auto end = std::ranges::find_if(
            sorted, [&](const T& one) { return digit(one.key, level) != here; });
        const auto count = static_cast<std::size_t>(end - sorted.begin());
        visit(here, sorted.first(count));
        sorted = sorted.subspan(count);
    }
}

} // namespace chainbase::state_root
