#pragma once

#include <undo/undo_log.hpp>

#include <cstdint>

namespace chainbase {

/// The places of a log, for those who read it from outside of it: what undo_log_view keeps to
/// itself, since it follows positions without looking where they lead.
struct log_walk : undo_log_view {
    using undo_log_view::chunk_begin, undo_log_view::chunk_header, undo_log_view::chunk_of,
        undo_log_view::completed, undo_log_view::first_record, undo_log_view::header_of,
        undo_log_view::mark_at, undo_log_view::words;
    using undo_log_view::undo_log_view;

    /// Bytes of the log between two positions in chunks in use, `from` being the older one.
    [[nodiscard]] std::uint64_t distance(log_position from, log_position to) const noexcept {
        const std::uint64_t chunks =
            header_of(chunk_of(to)).sequence - header_of(chunk_of(from)).sequence;
        return chunks * chunk_bytes + (to - chunk_begin(chunk_of(to))) -
               (from - chunk_begin(chunk_of(from)));
    }
};

} // namespace chainbase
