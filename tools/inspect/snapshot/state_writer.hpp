#pragma once

#include <chainbase/offline/snapshot_file/folder.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace chainbase::inspect {

/// How a state is written to a snapshot.
struct snapshot_call {
    std::filesystem::path to;
    std::optional<std::filesystem::path> base; ///< whose chunks are not written again
    unsigned threads = 2;
};

struct written_snapshot {
    snapshot_file::manifest all;
    snapshot_file::chunk_sink::figures files;
    bool is_through_copy = false;
};

/// Writes a state, closed or being written, as of one block. Where the writer is too fast to be
/// read meanwhile, the state is copied first (snapshot_copy), beside the snapshot, and the copy is
/// removed afterwards. Throws too_old_error when the writer is too fast and the rows of its archive
/// are no part of a copy, usage_error, damaged_error also when the objects are not those of the
/// state's root or rows of the archive are missing, schema_error when these have several layouts,
/// io_error, out_of_space_error.
[[nodiscard]] written_snapshot write_snapshot(row_source& state, const snapshot_call& asked);
/// As above, to anything else and never through a copy: throws too_old_error for every state that
/// is written too fast. Then, and after any other exception, `to` may have chunks, and no manifest.
[[nodiscard]] written_snapshot write_snapshot(row_source& state, snapshot_file::chunk_sink& to,
                                              unsigned threads);

} // namespace chainbase::inspect
