#pragma once

#include <chainbase/offline/snapshot_file/chunk.hpp>

#include <functional>
#include <vector>

namespace chainbase::snapshot_file {

/// Part of a type on its way to be a chunk.
struct piece {
    node at;
    chunk_content content;
    sha256_digest root{}; ///< of `at`; the caller's threads may have computed it

    /// With its root.
    [[nodiscard]] static piece of(node at, chunk_content content);
};

/// Cuts the rows of a type into chunks, as FORMAT.md says: whatever the pieces are in which they
/// come. One thread at a time. Keeps what may still become part of a larger chunk: at most
/// some times most_bytes.
class chunk_plan {
public:
    /// `emit` gets each chunk, by rising ids.
    explicit chunk_plan(std::function<void(piece)> emit);

    /// Pieces come by rising ids; each is of a node that has no piece yet. What has no rows may be
    /// left out. A piece that is too large is cut.
    void add(piece next);
    /// No more rows: the type's tree has this height.
    void finish(unsigned height);

private:
    void cut(piece large);
    void settle(std::uint64_t below);

    std::function<void(piece)> emit_;
    std::vector<piece> open_; ///< by rising ids; may still be joined with what comes
};

/// The height of the tree of a type whose highest id is `highest`: the smallest multiple of four
/// that reaches it, at least 4.
[[nodiscard]] unsigned tree_height(std::uint32_t highest) noexcept;

} // namespace chainbase::snapshot_file
