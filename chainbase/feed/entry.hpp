#pragma once

#include <archive/record/bytes.hpp>
#include <undo/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace chainbase::feed {

/// What one object is at the end of a block, if it is another than at the end of the block before.
struct object_change {
    enum class kind : std::uint8_t { created, modified, removed };

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
        pop,          ///< the block of this revision was undone: its entry no longer counts
        irreversible, ///< this block, and all before it, can no longer be undone
    };

    kind what = kind::block;
    revision_number revision = 0;
    std::vector<object_change> changes;
    archive::byte_buffer content;

    /// The record of the object at the end of the block before; empty if it was not there.
    [[nodiscard]] archive::bytes_view before(const object_change& of) const noexcept {
        return archive::bytes_view(content).subspan(of.before_at, of.after_at - of.before_at);
    }
    /// At the end of this block; empty if it is not there any more.
    [[nodiscard]] archive::bytes_view after(const object_change& of) const noexcept {
        return archive::bytes_view(content).subspan(of.after_at, of.end - of.after_at);
    }
};

} // namespace chainbase::feed
