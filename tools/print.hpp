#pragma once

#include <string>
#include <string_view>

namespace chainbase {

/// Writes a whole report to stdout. Throws io_error when that fails: an unreadable report is a
/// failure. `then`: the advice in the message.
void print_or_throw(std::string_view report,
                    std::string_view then = "the work itself is done, so direct stdout elsewhere "
                                            "and call again");

} // namespace chainbase
