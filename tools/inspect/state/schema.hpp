#pragma once

#include <chainbase/catalogue.hpp>
#include <chainbase/schema.hpp>
#include <tools/exit_code.hpp>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Of all types of a state: equal when they have the same types with the same layouts, in whatever
/// order they were added.
[[nodiscard]] std::uint64_t schema_hash(const catalogue& types);

/// Sixteen hexadecimal digits.
[[nodiscard]] std::string hash_text(std::uint64_t hash);

/// The types of a state that were asked for, from its catalogue alone.
struct schema_report {
    std::filesystem::path state;
    std::filesystem::path segment; ///< the folder of its files
    std::uint64_t hash = 0;        ///< of all types, whichever were asked for
    std::vector<catalogue::entry> types;
};

/// Reads `types` of a state, or all if none is named, and nothing but the catalogue. Throws
/// usage_error when it has not all of them, format_error when no state is there, unclean_error,
/// damaged_error, access_error, io_error.
[[nodiscard]] schema_report read_schema(const std::filesystem::path& state,
                                        const std::vector<std::string>& types);

/// The report as tables for people.
[[nodiscard]] std::string as_text(const schema_report& report);

/// The report as one JSON object; json.md lists its members.
[[nodiscard]] std::string as_json(const schema_report& report);

/// A directed graph for Graphviz: a node for each type, with its fields and keys. What an id refers
/// to is not in the catalogue, so there are no edges.
[[nodiscard]] std::string as_dot(const schema_report& report);

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

/// A C11 header with a struct for each type, laid out as the values of its objects are: padding is
/// explicit, and _Static_assert checks the size and every offset. What C has no type for, and what
/// is not described wholly, is bytes. Names become identifiers; the comment has the one that was.
[[nodiscard]] std::string c_header_of(const std::vector<catalogue::entry>& types);

} // namespace chainbase::inspect
