#pragma once

#include <chainbase/state_root/state_tree.hpp>

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace chainbase::state_root {

/// What some objects are after a block.
struct object_changes {
    struct change {
        std::uint32_t type; ///< its number in the tree
        std::uint32_t id;
        std::size_t end; ///< of its record; it begins where that of the change before ends
        bool exists;     ///< else it is no more, and has no record
    };
    std::vector<change> changes; ///< by type and id, each object once
    std::vector<std::byte> records;

    /// Adds an object whose record was appended to `records`, or that is no more.
    void add(std::uint32_t type, std::uint32_t id, bool exists) {
        changes.push_back({type, id, records.size(), exists});
    }
};

/// What a block has done to a tree.
struct block_digests {
    sha256_digest root;
    sha256_digest writes; ///< of the objects that the block changed, and their records
};

/// A state_tree that follows changes in a thread of its own.
///
///     apply block 1 | apply block 2 | apply block 3         who calls
///          gather --.    gather --.    gather --.
///                   '> hash 1     '> hash 2     '> hash 3   the thread
///
/// For one thread at a time, except that a future may be waited for in any.
class background_tree {
public:
    /// `threads` hash: the first takes the changes, the others share those of large blocks. 0: all
    /// is done in the caller. Throws limit_error when no thread can be started.
    background_tree(std::vector<std::string> types, unsigned threads);
    /// One that goes on with a tree.
    background_tree(state_tree tree, unsigned threads);
    ~background_tree();
    background_tree(const background_tree&) = delete;
    background_tree& operator=(const background_tree&) = delete;

    /// Takes over changes. Hashes their records here if the thread is behind, and waits while it is
    /// too far behind. If memory runs out in the thread, the future has std::bad_alloc, and so have
    /// all later ones: the tree is not to be used any more. Throws std::bad_alloc itself; then
    /// nothing was taken over.
    [[nodiscard]] std::shared_future<block_digests> update(object_changes changes);
    /// Empty changes to be filled, in memory that earlier ones have left.
    [[nodiscard]] object_changes empty_changes();

    /// Whether memory ran out in the thread.
    [[nodiscard]] bool has_failed() const noexcept;
    /// The tree after all changes. Waits for them. Throws std::bad_alloc if it ran out.
    [[nodiscard]] const state_tree& settled() const;

private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

} // namespace chainbase::state_root
