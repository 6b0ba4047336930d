#pragma once

#include <cstddef>
#include <cstdint>

/// The words by which the nodes of a pool form the tree of one ordered or ranked key, as they lie
/// in the file. compact_links.hpp lets Boost.MultiIndex work on them; tools that read or write
/// nodes without the type's program need this header only.
///
///      0  parent   4   bits 31-1 distance, bit 0 colour: 1 is black
///      4  left     4   distance
///      8  right    4   distance
///     12  size     4   nodes of the subtree; ranked keys only
///
/// A distance is counted in nodes, from the node that the link lies in. In slot 0, the header, they
/// lead to the root, the first and the last node.
namespace chainbase::links {

/// Where a word is.
enum class word : std::size_t { parent = 0, left = 4, right = 8, size = 12 };

/// Bytes that one ordered or ranked key takes in a node.
inline constexpr std::size_t ordered_bytes = 12;
inline constexpr std::size_t ranked_bytes = 16;

/// The distance that means "no node": the smallest that fits 31 bits. 0 is a link to the node
/// itself, as in an empty header.
inline constexpr std::int32_t no_node = INT32_MIN / 2;

/// The greatest height of a red-black tree of 2^32 nodes.
inline constexpr int max_height = 65;

/// The distance in the word `of`.
[[nodiscard]] constexpr std::int32_t distance_in(std::uint32_t bits, word of) noexcept {
    const auto distance = static_cast<std::int32_t>(bits);
    return of == word::parent ? distance >> 1 : distance;
}
/// Whether the node of this parent word is red.
[[nodiscard]] constexpr bool is_red(std::uint32_t parent) noexcept {
    return (parent & 1) == 0;
}
[[nodiscard]] constexpr std::uint32_t parent_bits(std::int32_t distance, bool is_red) noexcept {
    return static_cast<std::uint32_t>(distance) << 1 | (is_red ? 0U : 1U);
}

} // namespace chainbase::links
