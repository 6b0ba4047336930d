#pragma once

#include <chainbase/catalogue.hpp>
#include <tools/exit_code.hpp>

#include <cstdint>
#include <filesystem>
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

/// The report as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_json(const schema_report& report);

/// A directed graph for Graphviz: a node for each type, with its fields and keys. What an id refers
/// to is not in the catalogue, so there are no edges.
[[nodiscard]] std::string as_dot(const schema_report& report);

} // namespace chainbase::inspect
