#pragma once

#include <tools/exit_code.hpp>
#include <tools/inspect/memory/memory_tree.hpp>

#include <string>

namespace chainbase::inspect {

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
