#pragma once

#include <string>
#include <string_view>

namespace chainbase {

/// Writes a report to stdout, to the last byte. Throws io_error when stdout does not take it: what
/// nobody can read was not reported. `then`: what the message says that is to be done about it.
void print_or_throw(std::string_view report,
                    std::string_view then = "the work itself is done, so direct stdout elsewhere "
                                            "and call again");

} // namespace chainbase
