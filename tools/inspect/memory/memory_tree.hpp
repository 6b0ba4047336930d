#pragma once

#include <tools/exit_code.hpp>
#include <tools/inspect/memory/state_report.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// A part of what a state takes, and what it consists of.
///
/// Invariant: with children, `bytes` and `held` are the sums of theirs.
struct memory_node {
    std::string name;
    std::uint64_t bytes = 0; ///< of files, by their lengths
    std::uint64_t held = 0;  ///< of them what the file system holds: less where they are punched
    std::vector<memory_node> children;

    /// Enters a part, unless it has no bytes.
    void add(memory_node child);
};

/// A file with its bytes; one that is gone, or no regular file, has none.
[[nodiscard]] memory_node file_node(const std::filesystem::path& file);

/// Where the bytes of a state are: `segment` (types, buffers, undo_log, header, other files of its
/// folder), and the files of the state's folder, folder by folder (checkpoint, archive; of
/// RocksDB's files those of one column family and level together, see rocksdb_tree()). Every level
/// is in order of falling size.
///
/// The root is the sum of all files of both folders, exactly if no process writes. Throws
/// std::filesystem::filesystem_error; a file that goes meanwhile counts nothing.
[[nodiscard]] memory_node memory_tree(const state_report& state);

/// What the verb `tree` shows.
struct state_tree {
    state_report state;
    memory_node root; ///< memory_tree(state)
};

/// The tree with bars, for a terminal.
[[nodiscard]] std::string as_text(const state_tree& found);

/// The report as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_json(const state_tree& found);

/// What `ncdu -f` reads: version 1.2 of its JSON format (https://dev.yorhel.nl/ncdu/jsonfmt).
[[nodiscard]] std::string as_ncdu(const state_tree& found);

/// A line per leaf, "state;segment;types;account;values 1234": folded stacks, which programs that
/// draw flame graphs read.
[[nodiscard]] std::string as_folded(const state_tree& found);

/// A page that shows it as a treemap and needs no other file.
[[nodiscard]] std::string as_html(const state_tree& found);

} // namespace chainbase::inspect
