#pragma once

#include <chainbase/state_root/sha256.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace chainbase {
class thread_pool;
}

namespace chainbase::state_root {

/// Stands for nothing: no object, and nothing below.
inline constexpr sha256_digest no_digest{};

/// The digest of two others that are side by side, as FORMAT.md defines it.
[[nodiscard]] sha256_digest digest_of_pair(const sha256_digest& left, const sha256_digest& right);

/// What a tree of `height` says as a whole: the digest of its height, its root and a name.
[[nodiscard]] sha256_digest sealed(unsigned height, const sha256_digest& root,
                                   std::string_view name);

/// The digests beside the way from a leaf to the root of its tree, from the leaf on.
using merkle_path = std::vector<sha256_digest>;

/// The root to which the way from `leaf`, at `id`, along `path` leads.
[[nodiscard]] sha256_digest climb(std::uint64_t id, const sha256_digest& leaf,
                                  std::span<const sha256_digest> path);

/// The new digest of an object; no_digest: it is no more.
struct leaf_update {
    std::uint32_t id;
    sha256_digest leaf;
};

/// A binary Merkle tree over digests by id, in this process' memory.
///
///     root                        a page: 16 digests of objects or pages, as far as they exist
///         |                                8 hashed anew when one of them changes
///       pages of level 1                   4 kept
///         |                                2 kept
///       pages of level 0: objects          1 kept by the page above
///
/// Ids that were given out in order lie side by side, so there are no keys, and a page has what is
/// there of it: 49 bytes an object where no ids are missing.
///
/// The root follows from the leaves alone, in whatever order they came (FORMAT.md).
///
/// Thread-safety: as a container.
class id_tree {
public:
    id_tree();
    ~id_tree();
    id_tree(id_tree&& other) noexcept;
    id_tree& operator=(id_tree&& other) noexcept;

    /// Requires rising ids, each once. The threads of `pool`, if there is one, share the work.
    /// Throws std::bad_alloc; then nothing has changed.
    void update(std::span<const leaf_update> updates, thread_pool* pool = nullptr);

    /// What update_all() needs, kept from one call to the next.
    class work_space;
    struct changes {
        id_tree* of;
        std::span<const leaf_update> updates;
    };
    /// As update(), for several trees, each once: their ways to the root are hashed side by side.
    static void update_all(std::span<const changes> all, thread_pool* pool, work_space& work);

    [[nodiscard]] const sha256_digest& root() const noexcept { return root_; }
    /// How many levels of pairs are between the leaves and the root: the fewest that reach the
    /// highest id, and a multiple of four. 0: the tree is empty.
    [[nodiscard]] unsigned height() const noexcept { return 4 * levels_; }
    [[nodiscard]] std::uint64_t leaves() const noexcept { return leaves_; }
    /// Whether leaf() and path() can be asked for: whether `id` is below 2 to the height.
    [[nodiscard]] bool reaches(std::uint64_t id) const noexcept {
        return levels_ != 0 && id >> height() == 0;
    }
    /// no_digest: there is none.
    [[nodiscard]] sha256_digest leaf(std::uint32_t id) const noexcept;
    /// Requires reaches(id); there need not be a leaf. Throws std::bad_alloc.
    [[nodiscard]] merkle_path path(std::uint32_t id) const;
    /// Calls visit(id, leaf) for each leaf, by rising id. Throws what it throws.
    void each(const std::function<void(std::uint32_t, const sha256_digest&)>& visit) const;
    /// Calls visit(id) for each id at which the leaf of one is not that of the other, by rising id;
    /// passes over what is the same. Throws what it throws.
    static void differences(const id_tree& a, const id_tree& b,
                            const std::function<void(std::uint32_t)>& visit);
    /// Of the memory that it takes, without what the allocator adds.
    [[nodiscard]] std::uint64_t bytes() const noexcept;

private:
    struct page;
    [[nodiscard]] unsigned levels_for(std::span<const leaf_update> updates) const noexcept;
    void grow(unsigned levels);
    void shrink() noexcept;
    static void differences(const page* a, const page* b, unsigned level, std::uint64_t first,
                            const std::function<void(std::uint32_t)>& visit);

    std::unique_ptr<page> top_; ///< null: empty
    unsigned levels_ = 0;       ///< of pages
    std::uint64_t leaves_ = 0;
    sha256_digest root_{};
};

class id_tree::work_space {
public:
    work_space();
    ~work_space();
    work_space(work_space&& other) noexcept;
    work_space& operator=(work_space&& other) noexcept;

private:
    friend id_tree;
    struct visited;
    class lists;
    std::unique_ptr<lists> lists_;
};

} // namespace chainbase::state_root
