#pragma once

#include <archive/record/bytes.hpp>
#include <pool_allocator/base/error.hpp>
#include <undo/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::feed {

/// What follows a place of the feed cannot be told any more. The message says why; a follower
/// begins anew, with a snapshot.
class too_far_behind_error : public error {
public:
    explicit too_far_behind_error(const std::string& what, std::string why = {})
        : error(what), why_(std::move(why)) {}
    /// What who ended the feed there said of it (feed::end_feed()); empty if nobody did.
    [[nodiscard]] const std::string& why() const noexcept { return why_; }

private:
    std::string why_;
};

/// What one object is after an entry, if it is another than before.
struct object_change {
    enum class kind : std::uint8_t {
        created,
        modified,
        removed,
        archived,   ///< left memory for the archive: an object still, as it was before
        unarchived, ///< in a pop: is back in memory, as it was in the archive
    };

    std::uint32_t type; ///< its place in log_reader::types()
    std::uint32_t id;
    kind what;
    std::size_t before_at, after_at, end; ///< of its records, in entry::content
};

/// What happened to a state, as its followers are told. Everything that `content` has is a record
/// (archive/record/README.md): the bytes that dump, digest and archive share.
struct entry {
    enum class kind : std::uint8_t {
        /// `changes`, each object once, by type and id. There are several of one revision where a
        /// session was squashed into a block that had been pushed.
        block,
        pop, ///< the block of this revision was undone: `changes` lead back to the one before
        irreversible, ///< this block, and all before it, can no longer be undone
    };

    kind what = kind::block;
    revision_number revision = 0;
    /// Tells apart the blocks of one revision, also after a restart.
    std::uint32_t serial = 0;
    std::vector<object_change> changes;
    archive::byte_buffer content;
    /// Where it is not the one behind the last object created here: the id that the next object of
    /// a type gets after this block. Empty in a pop.
    struct next_id {
        std::uint32_t type;
        std::uint32_t id;
    };
    std::vector<next_id> next_ids = {};

    /// The record of the object before this entry; empty if it was not there.
    [[nodiscard]] archive::bytes_view before(const object_change& of) const noexcept {
        return archive::bytes_view(content).subspan(of.before_at, of.after_at - of.before_at);
    }
    /// And after it; empty if it is not there any more.
    [[nodiscard]] archive::bytes_view after(const object_change& of) const noexcept {
        return archive::bytes_view(content).subspan(of.after_at, of.end - of.after_at);
    }
};

/// The entry that undoes a block.
[[nodiscard]] entry pop_of(const entry& block);

} // namespace chainbase::feed
