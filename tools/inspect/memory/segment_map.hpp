#pragma once

#include <tools/inspect/memory/state_report.hpp>
#include <tools/inspect/memory/window_map.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// How full every page of a segment is.
///
/// Invariant: the files of `windows` and `other_files` are all bytes of the segment's folder.
struct segment_map {
    std::filesystem::path state;
    std::filesystem::path segment; ///< the folder of its files
    inspect::condition condition = condition::closed;
    /// Nothing changed while it was read, and what was found agrees with what is counted.
    bool consistent = false;
    std::vector<std::string> discrepancies; ///< what does not agree, in words
    /// The header, the log, the types' by type, the buffers' by size.
    std::vector<window_map> windows;
    std::uint64_t other_files = 0; ///< bytes of files in the folder that are not mapped

    [[nodiscard]] std::uint64_t bytes() const noexcept;        ///< of `windows`
    [[nodiscard]] std::uint64_t bytes_in_use() const noexcept; ///< of them, without headers
};

/// Looks at the segment of the state in the folder `state`: takes no lock, changes nothing. Reads
/// what says which slots are live (ids, free lists, tables), but no object; so it takes the longer,
/// the more there are, and beside a writer it reads again, for about a second, until nothing
/// changed meanwhile; `consistent` says whether that succeeded.
///
/// Throws what opening a segment read-only throws; a state whose writer died is no error.
[[nodiscard]] segment_map read_segment_map(const std::filesystem::path& state);

} // namespace chainbase::inspect
