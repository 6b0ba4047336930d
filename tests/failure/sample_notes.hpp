#pragma once

#include <filesystem>

namespace chainbase::test {

/// Makes a state of 40 notes, the last 5 of them in a pushed session.
void make_closed(const std::filesystem::path& state);
/// The same, left by a writer that died within one more session, in which it changed every note.
void make_abandoned(const std::filesystem::path& state);
/// The same, left in that way by a machine that restarted since: there is a checkpoint, and no
/// segment to go on with.
void make_restarted(const std::filesystem::path& state);
/// Opens the state for writing and compares all notes by id and by each key, undoes the pushed
/// session and compares again. Throws what opening throws; mismatch for a difference.
void open_and_compare(const std::filesystem::path& state);

} // namespace chainbase::test
