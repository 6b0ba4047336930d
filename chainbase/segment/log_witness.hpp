#pragma once

#include <pool_allocator/base/file_identity.hpp>

#include <cstdint>

namespace chainbase {
class undo_log;
}

/// Remembers how far a segment's log has come, in memory that survives the writer but not the
/// machine. A log with a smaller sequence was put back from a copy, or its pages were lost with a
/// mount; then other pages of the segment may be of other times, too.
///
///     /dev/shm/chainbase-logs-<user's number>    64 KiB: a table of {segment, sequence}
///
/// All segments of a user share it, each known by the file of its header; when the table is full a
/// new one replaces another. It is only an additional check: where it cannot be kept, or does not
/// know the segment, nothing is known, which is not an error.
namespace chainbase::log_witness {

/// From now on remembers log_words::sequence whenever a session starts in `log`, the log of the
/// segment whose header is the file `of`. Called by the segment's writer.
void remember(undo_log& log, const file_identity& of) noexcept;

/// Remembers that the segment was closed: whatever is open in its place was put back.
void close(const file_identity& of) noexcept;

/// Drops what is remembered: the segment is opened, or accepted as it is.
void forget(const file_identity& of) noexcept;

/// The remembered sequence of a segment that is not closed, 0 if none is known, the greatest number
/// after close(). Call it before the log is read.
[[nodiscard]] std::uint64_t sequence_of(const file_identity& of) noexcept;

} // namespace chainbase::log_witness
