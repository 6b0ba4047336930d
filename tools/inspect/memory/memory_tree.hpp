#pragma once

#include <tools/exit_code.hpp>
#include <tools/inspect/memory/state_report.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// A part of a state's files and its subdivision.
///
/// Invariant: with children, `bytes` and `held` are the sums of theirs.
struct memory_node {
    std::string name;
    std::uint64_t bytes = 0; ///< file lengths
    std::uint64_t held = 0;  ///< allocated by the file system: less where holes are punched
    std::vector<memory_node> children;

    /// Adds a part, unless it is empty.
    void add(memory_node child);
};

/// A file with its bytes; zero for a missing or irregular file.
[[nodiscard]] memory_node file_node(const std::filesystem::path& file);

/// The files of a state: `segment` (types, buffers, undo_log, header, other files of its folder),
/// and the files of the state's folder, folder by folder (checkpoint, archive; RocksDB's files
/// grouped by column family and level, see rocksdb_tree()). Every level is sorted by falling size.
///
/// The root is the sum of all files of both folders, exact if no process writes. Throws
/// std::filesystem::filesystem_error; a file removed meanwhile counts 0.
[[nodiscard]] memory_node memory_tree(const state_report& state);

/// The report of the verb `tree`.
struct state_tree {
    state_report state;
    memory_node root; ///< memory_tree(state)
};

/// The tree with bars, for a terminal.
[[nodiscard]] std::string as_text(const state_tree& found);

/// The report as one JSON object; json.md lists its members.
[[nodiscard]] std::string as_json(const state_tree& found);

/// Input for `ncdu -f`: version 1.2 of its JSON format (https://dev.yorhel.nl/ncdu/jsonfmt).
[[nodiscard]] std::string as_ncdu(const state_tree& found);

/// A line per leaf, "state;segment;types;account;values 1234": folded stacks for flame graph
/// programs.
[[nodiscard]] std::string as_folded(const state_tree& found);

/// A self-contained page that shows it as a treemap.
[[nodiscard]] std::string as_html(const state_tree& found);

} // namespace chainbase::inspect
