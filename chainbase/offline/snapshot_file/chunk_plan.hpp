#pragma once

#include <chainbase/offline/snapshot_file/chunk.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace chainbase::snapshot_file {

/// Part of a type on its way to be a chunk.
struct piece {
    node at;
    chunk_content content;
    sha256_digest root{}; ///< of `at`; the caller's threads may have computed it

    /// With its root. Throws damaged_error when a row is not of the node.
    [[nodiscard]] static piece of(node at, chunk_content content);
};

/// Cuts the rows of a type into chunks, as FORMAT.md says: whatever the pieces are in which they
/// come. One thread at a time. Keeps the rows of at most one chunk beside the last piece, and for a
/// moment twice that.
///
/// Open nodes have all of their rows, and may still be joined with what comes:
/// 1. They rise. A node that has two of them, or one, and gets no more rows is one of them itself,
///    unless it is too heavy.
/// 2. So the node above the first of them has all open rows, or rows of a chunk: the first one is a
///    chunk once the open rows weigh too much, or a chunk lies below the node above it.
///
/// After an exception, which may be one of `emit`, it must not be used.
class chunk_plan {
public:
    /// `emit` gets each chunk, by rising ids. `most`: what a chunk of several rows weighs at most;
    /// another one than FORMAT.md's is for tests.
    explicit chunk_plan(std::function<void(piece)> emit, std::uint64_t most = most_bytes);

    /// Pieces come by rising ids; each is of a node that has no piece yet, and has all rows of it.
    /// What has no rows may be left out. A piece that is too large is cut. Throws usage_error when
    /// its ids are not above those before.
    void add(piece next);
    /// No more rows: the type's tree has this height, which may be less than that of a piece.
    void finish(unsigned height);

private:
    /// A node whose rows are all there, and that may still be joined with what comes.
    struct open_node {
        node at;
        sha256_digest root;
        std::uint64_t bytes;
        std::vector<chunk_content> parts;
    };

    void add_heavy(piece next);
    void cut(node at, std::span<const chunk_row> rows);
    void settle(std::uint64_t below);
    void join_last();
    [[nodiscard]] bool is_settled(const open_node& one) const noexcept;
    [[nodiscard]] piece take_first();

    std::function<void(piece)> emit_;
    std::uint64_t most_;
    std::vector<open_node> open_;
    std::uint64_t open_bytes_ = 0;
    std::uint64_t next_id_ = 0; ///< what comes begins here or above
    std::uint64_t emitted_ = 0; ///< end of the last chunk: nodes that begin below are too heavy
};

/// The height of the tree of a type whose highest id is `highest`: the smallest multiple of four
/// that reaches it, at least 4.
[[nodiscard]] unsigned tree_height(std::uint32_t highest) noexcept;

} // namespace chainbase::snapshot_file
