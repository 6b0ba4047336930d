#pragma once

#include <chainbase/file_identity.hpp>

#include <cstdint>

namespace chainbase {
class undo_log;
}

/// How far a segment's log has come, remembered in memory until the machine stops, also when the
/// writer dies. A log that says less was put back from a copy, or its pages were lost with a mount;
/// so were others, of other times.
///
///     /dev/shm/chainbase-logs-<user's number>    64 KiB: a table of {segment, sequence}
///
/// All segments of a user share it, each known by the file of its header; a new one takes the place
/// of another when it is full. It is a second opinion: where it cannot be kept, or does not know
/// the segment, nothing is known, and that is no error.
namespace chainbase::log_witness {

/// From now on log_words::sequence is remembered whenever a session starts in `log`, which is of
/// the segment whose header is the file `of`. For the writer of that.
void remember(undo_log& log, const file_identity& of) noexcept;

/// The segment is closed, or is about to be written as it is: nothing of before counts.
void forget(const file_identity& of) noexcept;

/// What was remembered, 0 if nothing is known. To be called before the log is read.
[[nodiscard]] std::uint64_t sequence_of(const file_identity& of) noexcept;

} // namespace chainbase::log_witness
