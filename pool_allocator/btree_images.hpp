#pragma once

#include <pool_allocator/btree.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

/// For the sources of btree alone: pieces of keys, and copies of nodes that are changed before they
/// are written.
namespace chainbase {

namespace detail {

inline constexpr std::size_t word_bits = 64;
inline constexpr std::size_t slice_bits = 32;
inline constexpr std::uint8_t free_level = 255;

/// The 32 bits of a key from `bit` on.
inline std::uint32_t slice_at(const btree_key& key, std::size_t bit) noexcept {
    const std::size_t word = bit / word_bits;
    const std::size_t offset = bit % word_bits;
    if (word == key.size()) return 0;
    std::uint64_t bits = key[word] << offset;
    if (offset > word_bits - slice_bits && word + 1 < key.size())
        bits |= key[word + 1] >> (word_bits - offset);
    return static_cast<std::uint32_t>(bits >> (word_bits - slice_bits));
}

/// The first `bits` of a key.
inline btree_key cut(const btree_key& key, std::size_t bits) noexcept {
    btree_key result{};
    const std::size_t whole = bits / word_bits;
    std::copy_n(key.begin(), whole, result.begin());
    if (bits % word_bits != 0)
        result[whole] = key[whole] & ~std::uint64_t{0} << (word_bits - bits % word_bits);
    return result;
}

} // namespace detail

/// What is between two children: no key on the left is at or behind it, and none on the right
/// before it. With a tie it is the key of that object, else the first of all keys with these bits.
struct btree::separator {
    btree_key bits{};
    slot_number tie = 0;
};

/// A leaf with room for one entry more than it can have.
struct btree::leaf_image {
    btree_key prefix{};
    std::size_t shared = 0;
    std::uint32_t count = 0;
    std::array<btree_entry, btree_node::entries_of(1) + 1> entries{};

    void insert(std::uint32_t index, btree_entry entry) noexcept {
        std::copy_backward(entries.begin() + index, entries.begin() + count,
                           entries.begin() + count + 1);
        entries[index] = entry;
        ++count;
    }
    void append(const leaf_image& other) noexcept {
        std::copy_n(other.entries.begin(), other.count, entries.begin() + count);
        count += other.count;
    }
    [[nodiscard]] leaf_image part(std::uint32_t begin, std::uint32_t end) const noexcept {
        leaf_image result{prefix, shared, end - begin, {}};
        std::copy(entries.begin() + begin, entries.begin() + end, result.entries.begin());
        return result;
    }
};

/// An inner node, likewise.
struct btree::inner_image {
    std::uint32_t level = 0;
    std::uint32_t count = 0;
    std::array<separator, btree_node::separators_of(1) + 1> separators{};
    std::array<std::uint32_t, btree_node::separators_of(1) + 2> children{};

    /// A child that comes before or behind the one at `index`.
    void insert(std::uint32_t index, const separator& between, std::uint32_t child,
                bool is_left) noexcept {
        const std::uint32_t at = is_left ? index : index + 1;
        std::copy_backward(separators.begin() + index, separators.begin() + count,
                           separators.begin() + count + 1);
        std::copy_backward(children.begin() + at, children.begin() + count + 1,
                           children.begin() + count + 2);
        separators[index] = between;
        children[at] = child;
        ++count;
    }
    /// Of two or more.
    void erase(std::uint32_t index) noexcept {
        const std::uint32_t removed = index == 0 ? 0 : index - 1;
        std::copy(separators.begin() + removed + 1, separators.begin() + count,
                  separators.begin() + removed);
        std::copy(children.begin() + index + 1, children.begin() + count + 1,
                  children.begin() + index);
        --count;
    }
    void append(const separator& between, const inner_image& other) noexcept {
        separators[count] = between;
        std::copy_n(other.separators.begin(), other.count, separators.begin() + count + 1);
        std::copy_n(other.children.begin(), other.count + 1, children.begin() + count + 1);
        count += other.count + 1;
    }
    /// The separators from `begin` to before `end`, and the children around them.
    [[nodiscard]] inner_image part(std::uint32_t begin, std::uint32_t end) const noexcept {
        inner_image result{level, end - begin, {}, {}};
        std::copy(separators.begin() + begin, separators.begin() + end, result.separators.begin());
        std::copy(children.begin() + begin, children.begin() + end + 1, result.children.begin());
        return result;
    }
};

} // namespace chainbase
