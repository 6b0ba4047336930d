#pragma once

#include <pool_allocator/pool.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

namespace chainbase {

/// A key as a string of bits whose order, read as big numbers, is the order of the keys; at most
/// 512 bits, the highest of words[0] first, and zeros behind the last one.
using btree_key = std::array<std::uint64_t, 8>;

/// A key to search for.
struct btree_wanted {
    btree_key bits{};
    /// Of a tree of keys of any length: the whole key, which `bits` is the beginning of.
    std::string whole;
    /// Whether it stands for the last of all keys that begin with `whole`, not the first.
    bool is_last = false;

    // NOLINTNEXTLINE(google-explicit-constructor): a key of bits is one to search for
    btree_wanted(const btree_key& key = {}) noexcept : bits(key) {}
    /// A key of any length, as bytes in the order of memcmp, none of which begins with another one.
    explicit btree_wanted(std::string key, bool last = false) noexcept;
};

/// Where a tree reads the keys of objects: it holds only pieces of them.
class btree_keys {
public:
    virtual ~btree_keys() = default;
    /// The key of the object in `slot`. Throws damaged_error when no object was ever there.
    [[nodiscard]] virtual btree_key read(slot_number slot) const = 0;
    /// The whole key, of trees of keys of any length; throws as read().
    [[nodiscard]] virtual std::string read_whole(slot_number) const { return {}; }
    /// Asks for what read_whole() needs besides the object, which is read for it.
    virtual void prefetch_whole(slot_number) const {}
    /// Asks for the memory that read() needs; any number may be given.
    virtual void prefetch(slot_number slot) const noexcept = 0;
};

/// The words of a tree, the root block of its window.
///
///     0  nodes   12   the pool of nodes; slot 0 stays unused
///    12  bits     4   length of a key, 0 for keys of any length
///    16  root     4   node; 0 for an empty tree
///    20  levels   4   0 for an empty tree, 1 if the root is a leaf
///    24  first    4   leaf, 0 for an empty tree
///    28  last     4   leaf
///    32  size     4   entries
struct btree_state {
    pool_state nodes;
    std::uint32_t bits;
    std::uint32_t root;
    std::uint32_t levels;
    std::uint32_t first;
    std::uint32_t last;
    std::uint32_t size;
};
static_assert(sizeof(btree_state) == 36 && offsetof(btree_state, root) == 16);

/// One entry of a leaf.
///
///     0  slice   4   the 32 bits of the object's key behind the leaf's shared ones
///     4  slot    4
struct btree_entry {
    std::uint32_t slice;
    slot_number slot;
};
static_assert(sizeof(btree_entry) == 8);

/// A node. W is the number of words of a key.
///
///     0  count      2   entries of a leaf; separators of an inner node, which has a child more
///     2  begin      2   leaf: the place of its first entry
///     4  shared     2   leaf: bits that all its keys begin with
///     6  level      1   0 for a leaf, 255 for a free node
///     7  reserved   1
///     8  previous   4   leaf: its neighbours, 0 for none
///    12  next       4
///    16  leaf:   prefix     8 W        a key cut to the shared bits
///                entries    8 (62 - W) in order, count of them from place `begin` on
///        inner:  separators 8 W C      word 0 of all, then word 1 of all ...; C is the capacity
///                children   4 (C + 1)
///                ties       4 C        only for keys of any length: the first object of the right
///                                      child, if one on the left has the separator's bits, too
///
/// A free node has the number of the next one in its first four bytes.
struct btree_node {
    std::uint16_t count;
    std::uint16_t begin;
    std::uint16_t shared;
    std::uint8_t level;
    std::uint8_t reserved;
    std::uint32_t previous;
    std::uint32_t next;
    std::array<std::uint64_t, 62> rest;

    static constexpr std::size_t header_bytes = 16;
    /// What a node of keys with that many words holds at most.
    [[nodiscard]] static constexpr std::uint32_t entries_of(std::size_t words) noexcept {
        return static_cast<std::uint32_t>(62 - words);
    }
    [[nodiscard]] static constexpr std::uint32_t separators_of(std::size_t words,
                                                               bool has_ties = false) noexcept {
        return static_cast<std::uint32_t>((sizeof(rest) - 4) / (8 * words + (has_ties ? 8 : 4)));
    }
};
static_assert(sizeof(btree_node) == 512 && offsetof(btree_node, rest) == btree_node::header_bytes);

/// A B+-tree of the objects of a type, ordered by a key that no two of them share: flat nodes of
/// 512 bytes in a window of their own, which refer to each other and to objects by number. See
/// btree.md for how it works, its invariants, and what was compared.
///
/// Reading is thread-safe while nobody writes. One writer, in an operation. Whatever fails in a
/// change, the operation must fail, too: what was changed before is rolled back with it.
class btree {
public:
    static constexpr std::size_t max_bits = 512;
    /// Instead of a length: keys of any length, of which nodes have the first bits.
    static constexpr std::size_t any_length = 0;
    static constexpr std::size_t first_bits = 256;
    static constexpr std::uint32_t max_levels = 16;
    static constexpr window::geometry geometry{window_kind::btree, sizeof(btree_node),
                                               window_header::page_bytes};

    /// `keys`, of so many bits, must outlive the tree. `barrier` is null when only reading. Throws
    /// damaged_error when the tree is of keys of another length.
    btree(window& file, const btree_keys& keys, std::size_t bits, write_barrier* barrier);
    btree(const btree&) = delete;
    btree& operator=(const btree&) = delete;

    /// Makes an empty tree of keys of so many bits in its new window, in an operation.
    static void initialise(window& file, std::size_t bits) noexcept;
    [[nodiscard]] static btree_state& state_in(const window& file) noexcept {
        return *reinterpret_cast<btree_state*>(file.root());
    }

    /// An entry; the end has leaf 0. Valid until the tree changes; holds() tells afterwards.
    struct place {
        std::uint32_t leaf = 0;
        std::uint32_t index = 0;
        friend bool operator==(const place&, const place&) = default;
    };

    /// A search for a key. Its steps can alternate with those of other searches, so that all wait
    /// for memory at once:
    ///
    ///     search s = tree.start(key);
    ///     while (tree.step(s)) {}        a node further; false when it has got to the leaf
    ///     tree.finish(s);                reads objects, if their slices do not tell them apart
    struct search {
        /// Which node of a level, and which child or entry of it.
        struct turn {
            std::uint32_t node;
            std::uint32_t index;
        };
        btree_wanted key;
        std::uint32_t level = 0;             ///< of the next node
        std::uint32_t next = 0;              ///< the next node; 0: it is at the leaf
        std::uint32_t behind = 0;            ///< the leaf's entries with the key's slice end here
        slot_number found = 0;               ///< after finish(): the object with this key, or 0
        slot_number own = 0;                 ///< the object that has the key, if it is known
        std::array<turn, max_levels> path{}; ///< by level
    };
    [[nodiscard]] search start(btree_wanted key, slot_number own = 0) const;
    bool step(search& of) const;
    void finish(search& of) const;

    /// The object with this key, or 0. All of these throw damaged_error.
    [[nodiscard]] slot_number find(const btree_wanted& key) const { return finished(key).found; }
    /// The first entry that is not before the key, and the first one that is behind it.
    [[nodiscard]] place bound_of(search& at_leaf) const;
    [[nodiscard]] place lower_bound(const btree_wanted& key) const;
    [[nodiscard]] place upper_bound(const btree_wanted& key) const;
    /// The entry of the object in `slot`, whose key it is; damaged_error if there is none.
    [[nodiscard]] place place_of(const btree_wanted& key, slot_number slot) const;
    [[nodiscard]] place begin() const noexcept { return {state_.first, 0}; }
    [[nodiscard]] slot_number slot_at(place at) const;
    [[nodiscard]] place next(place at) const;
    /// Whether the entry of that object is there. `at` may be of an earlier time.
    [[nodiscard]] bool holds(place at, slot_number slot) const noexcept;
    /// The object that many entries further, or 0 if it is behind the next leaf.
    [[nodiscard]] slot_number ahead_of(place at, std::uint32_t entries) const noexcept;
    /// Of the end: the last entry. Of the first one: the end.
    [[nodiscard]] place previous(place at) const;
    [[nodiscard]] std::uint32_t size() const noexcept { return state_.size; }

    /// Enters an object by a finished search for its key, which must be of this tree as it is.
    /// Returns 0, or the object that has the key: then nothing changed. Throws out_of_space_error,
    /// limit_error, damaged_error.
    slot_number insert(search& at, slot_number slot);
    slot_number insert(const btree_wanted& key, slot_number slot) {
        search at = finished(key);
        return insert(at, slot);
    }
    /// Removes an entry by a search for its key that has got to the leaf, or by the key; reads no
    /// object. Throws as insert() does, and damaged_error when the object has no entry under this
    /// key.
    void erase(search& at, slot_number slot);
    void erase(const btree_wanted& key, slot_number slot) {
        search at = at_leaf(key, slot);
        erase(at, slot);
    }
    /// Moves the entry of an object whose key changes, and which read() gives the new key of.
    /// Returns and throws as insert() and erase() do, but if another object has the new key, the
    /// operation must fail.
    slot_number move(const btree_wanted& from, const btree_wanted& to, slot_number slot);
    /// Makes the entry of an object that moves lead to its new slot. Throws as erase() does.
    void replace(const btree_wanted& key, slot_number slot, slot_number to);

    /// Compaction, in parts of one call, each in an operation. First leaves that fit into one are
    /// joined, from `leaf` on (at first that of begin()); returns where to go on, 0 at the end.
    /// Then the free nodes are linked in order, and nodes move from the file's end to those before
    /// it; returns whether there is more to do. All throw as insert() does.
    std::uint32_t join_leaves(std::uint32_t leaf);
    [[nodiscard]] std::deque<slot_number> sort_free_nodes();
    bool fill_free_nodes(std::deque<slot_number>& free);
    /// Cuts the file behind the last used node. Requires that nothing can be undone.
    void trim();

    /// Throws damaged_error unless all nodes that the root's words count are in a file of so many
    /// bytes: for a file that its writer does not keep.
    void require_within(std::size_t bytes) const;
    /// Reads the whole tree and all keys, and calls found(node, what) for each thing that is wrong,
    /// 0 for the words of the root.
    using finding = std::function<void(std::uint32_t node, const std::string& what)>;
    void check(const finding& found) const;
    /// How the file's bytes are used; those of nodes in use count as links.
    [[nodiscard]] static usage measure(const window& file) noexcept;

private:
    struct separator;
    struct leaf_image;
    struct inner_image;
    class checker;

    [[nodiscard]] btree_node& node_at(std::uint32_t number) const noexcept {
        return *reinterpret_cast<btree_node*>(file_.base() + window_header::page_bytes +
                                              std::size_t{number} * sizeof(btree_node));
    }
    [[nodiscard]] btree_node& checked(std::uint32_t number, std::uint32_t level) const;
    [[noreturn]] void throw_damaged(std::uint32_t node, const std::string& what) const;
    [[gnu::always_inline]] void prefetch_node(std::uint32_t number) const noexcept {
        constexpr std::size_t cache_line = 64;
        const auto* node = reinterpret_cast<const std::byte*>(&node_at(number));
        for (std::size_t at = 0; at < sizeof(btree_node); at += cache_line)
            __builtin_prefetch(node + at);
    }

    [[nodiscard]] btree_entry* entries_of(btree_node& leaf) const noexcept {
        return reinterpret_cast<btree_entry*>(leaf.rest.data() + words_);
    }
    [[nodiscard]] const std::uint64_t* column_of(const btree_node& inner,
                                                 std::size_t word) const noexcept {
        return inner.rest.data() + word * separators_;
    }
    [[nodiscard]] std::uint32_t* children_of(btree_node& inner) const noexcept {
        return reinterpret_cast<std::uint32_t*>(inner.rest.data() + words_ * separators_);
    }
    [[nodiscard]] int order(const btree_key& a, const btree_key& b) const noexcept;
    [[nodiscard]] std::size_t common_bits(const btree_key& a, const btree_key& b) const noexcept;
    [[nodiscard]] slot_number* ties_of(btree_node& inner) const noexcept {
        return children_of(inner) + separators_ + 1;
    }
    /// The key of an object as one to search for.
    [[nodiscard]] btree_wanted key_of(slot_number slot) const;
    /// Negative, zero or positive, as the object in `slot`, whose bits these are, comes before,
    /// with or behind what is searched for.
    [[nodiscard]] int order(const btree_key& bits, slot_number slot, const search& of) const;
    [[nodiscard]] std::uint32_t child_index(btree_node& inner, const search& of) const;
    [[nodiscard]] int order_of_prefix(const btree_key& key, const btree_node& leaf) const noexcept;
    [[nodiscard]] search at_leaf(const btree_wanted& key, slot_number own = 0) const;
    [[nodiscard]] search finished(const btree_wanted& key) const;
    void find_entry(search& at, slot_number slot) const;
    [[nodiscard]] place normal(place at) const;

    [[nodiscard]] leaf_image image_of(btree_node& leaf) const;
    [[nodiscard]] inner_image inner_image_of(btree_node& inner) const;
    void share_fewer(leaf_image& of, std::size_t bits) const;
    void share_more(leaf_image& of) const;
    void write(btree_node& to, const leaf_image& from) const noexcept;
    void write(btree_node& to, const inner_image& from) const noexcept;

    void log(void* from, std::size_t bytes);
    void touch();
    void reserve_nodes(std::uint32_t nodes);
    std::uint32_t take();
    void give(std::uint32_t node);
    void insert_entry(btree_node& leaf, std::uint32_t index, btree_entry entry);
    void erase_entry(btree_node& leaf, std::uint32_t index);
    void split(search& at, slot_number slot);
    void add_child(const search& at, std::uint32_t level, const separator& between,
                   std::uint32_t child, bool is_left);
    [[nodiscard]] slot_number* tie_at(const search& at, slot_number slot) const;
    void pass_tie(const search& at, slot_number slot);
    void remove_child(const search& at, std::uint32_t level, std::uint32_t index);
    bool join(const search& at, std::uint32_t right_index, std::uint32_t most);
    void merge_inner(const search& at, std::uint32_t level);
    void remove_leaf(const search& at, std::uint32_t child, std::uint32_t number);
    void link(std::uint32_t before, std::uint32_t after);
    void require_neighbours(std::uint32_t before, std::uint32_t after) const;
    void move_node(std::uint32_t from, std::uint32_t to);

    window& file_;
    btree_state& state_;
    const btree_keys& keys_;
    write_barrier* barrier_;
    root_block root_block_;
    pool nodes_;
    bool is_any_length_;
    std::size_t bits_;         ///< of a key
    std::size_t words_;        ///< of a key
    std::uint32_t entries_;    ///< capacity of a leaf
    std::uint32_t separators_; ///< capacity of an inner node
};

} // namespace chainbase
