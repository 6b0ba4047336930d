#pragma once

#include <chainbase/schema.hpp>

#include <set>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// @name The types in which a state keeps its root (chainbase/state_root/README.md)
/// @{
/// As this version knows them: the tree, its types, its nodes by capacity.
[[nodiscard]] const std::vector<type_schema>& root_schemas();
/// Whether a type is one of them: called so, with the fields that this version knows.
[[nodiscard]] bool is_of_root(const type_schema& schema);
/// @}

/// Why objects of a type are no part of what a state means, and in no digest of it; empty if they
/// are. `names` are those of all types of the state. Bookkeeping are
///  - `T.retired`, `.filter`, `.removed` and `.withdrawn` of a type T: of its life cycle,
///  - `archive.table`, `.row` and `.key`: an archive in memory, whose rows count as objects,
///  - `chain_identity` and `applied_block`, if they have the fields that chainbase-driver's have,
///  - `state_root.tree`, `.types` and `.nodes2` to `.nodes16`, if they have those of this version:
///    what a root commits to is the content, of which it is no part.
[[nodiscard]] std::string why_bookkeeping(const type_schema& schema,
                                          const std::set<std::string>& names);

} // namespace chainbase::inspect
