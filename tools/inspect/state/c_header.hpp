#pragma once

#include <chainbase/catalogue.hpp>

#include <string>
#include <vector>

namespace chainbase::inspect {

/// A C11 header with a struct for each type, laid out as the values of its objects are: padding is
/// explicit, and _Static_assert checks the size and every offset. What C has no type for, and what
/// is not described wholly, is bytes. Names become identifiers; the comment has the one that was.
[[nodiscard]] std::string c_header_of(const std::vector<catalogue::entry>& types);

} // namespace chainbase::inspect
