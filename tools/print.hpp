#pragma once

#include <string_view>

namespace chainbase {

/// Writes a report to stdout, to the last byte. Throws io_error when stdout does not take it: what
/// nobody can read was not reported.
void print_or_throw(std::string_view report);

} // namespace chainbase
