#pragma once

#include <chainbase/schema.hpp>

#include <vector>

namespace chainbase::inspect {

/// @name The types in which a state keeps its root (chainbase/state_root/README.md)
/// @{
/// As this version knows them: the tree, its types, its nodes by capacity.
[[nodiscard]] const std::vector<type_schema>& root_schemas();
/// Whether a type is one of them: called so, with the fields that this version knows.
[[nodiscard]] bool is_of_root(const type_schema& schema);
/// @}

} // namespace chainbase::inspect
