#pragma once

#include <tools/inspect/memory/state_report.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace chainbase::inspect {

/// The queue of a type with a life cycle (archive/lifecycle.hpp) is called as the type, and this.
inline constexpr std::string_view queue_suffix = ".retired";

/// How many objects of `type` were handed over for good, as lifecycle::handed_over() counts them:
/// the archive of a whole state has at least so many rows of it. Ids of the queue are given in
/// order, and an entry goes with its object: when that is handed over, or, if it is withdrawn,
/// removed. So these are the entries that were given, less those that wait and those withdrawn.
/// Nothing when the type has no life cycle.
///
/// In a turn. Throws damaged_error.
[[nodiscard]] std::optional<std::uint64_t> objects_handed_over(row_source& state,
                                                               const std::string& type);
/// The same of all types that have a life cycle. Takes a turn.
[[nodiscard]] std::map<std::string, std::uint64_t> objects_handed_over(row_source& state);
/// The same of one, of a report.
[[nodiscard]] std::optional<std::uint64_t> objects_handed_over(const state_report& state,
                                                               const std::string& type);

} // namespace chainbase::inspect
