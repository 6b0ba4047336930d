#pragma once

#include <chainbase/schema.hpp>

#include <set>
#include <string>

namespace chainbase::inspect {

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
