#pragma once

#include <chainbase/object/schema.hpp>
#include <chainbase/offline/past_migration.hpp>
#include <chainbase/segment/catalogue.hpp>
#include <tools/exit_code.hpp>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Hash of all types of a state: equal for equal types with equal layouts, whatever their order.
[[nodiscard]] std::uint64_t schema_hash(const catalogue& types);

/// Sixteen hexadecimal digits.
[[nodiscard]] std::string hash_text(std::uint64_t hash);

/// The requested types of a state, from its catalogue alone.
struct schema_report {
    std::filesystem::path state;
    std::filesystem::path segment; ///< the folder of its files
    std::uint64_t hash = 0;        ///< of all types, requested or not
    std::vector<catalogue::entry> types;
    std::vector<past_migration> migrations; ///< that led to these types
};

/// Reads `types` of a state, or all if none is named, from the catalogue alone, and what the state
/// `told_by` (of a checkpoint: whose it is) tells of their migrations. Throws usage_error
/// when one is missing, format_error without a state, unclean_error, damaged_error, access_error,
/// io_error.
[[nodiscard]] schema_report read_schema(const std::filesystem::path& state,
                                        const std::vector<std::string>& types,
                                        const std::filesystem::path& told_by);

/// The report as text tables.
[[nodiscard]] std::string as_text(const schema_report& report);

/// The report as one JSON object; json.md lists its members.
[[nodiscard]] std::string as_json(const schema_report& report);

/// A Graphviz graph: a node for each type, with its fields and keys. It has no edges, as the
/// catalogue does not say which type an id refers to.
[[nodiscard]] std::string as_dot(const schema_report& report);

/// @name The types that store a state's root (chainbase/state_root/README.md)
/// @{
/// This version's types: the recorded root, and the types that it commits to.
[[nodiscard]] const std::vector<type_schema>& root_schemas();
/// Whether a type is one of them, by name and fields.
[[nodiscard]] bool is_of_root(const type_schema& schema);
/// @}

/// Why a type's objects are not part of a state's content nor in any digest; empty if they are.
/// `names` are those of all types of the state. Bookkeeping types are
///  - `T.retired`, `.filter`, `.removed` and `.withdrawn` for a type T: its life cycle,
///  - `archive.table`, `.row` and `.key`: an archive in memory, whose rows count as objects,
///  - `chain_identity` and `applied_block`, if they have the fields of chainbase-driver's,
///  - `state_root.recorded` and `.committed`, if they match this version: a root commits to the
///    content and is not part of it,
///  - `state_root.tree`, `.types` and `.nodes2` to `.nodes16`, if they are those of the tree that
///    earlier versions kept in the state.
[[nodiscard]] std::string why_bookkeeping(const type_schema& schema,
                                          const std::set<std::string>& names);

/// A C11 header with a struct for each type in the layout of its values: padding is explicit, and
/// _Static_assert checks the size and every offset. Types without a C equivalent, or only partly
/// described, become bytes. Names become identifiers; a comment has the original.
[[nodiscard]] std::string c_header_of(const std::vector<catalogue::entry>& types);

} // namespace chainbase::inspect
