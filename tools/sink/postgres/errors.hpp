#pragma once

#include <pool_allocator/base/error.hpp>

#include <string>
#include <string_view>

namespace chainbase::sink::postgres {

/// Rows with such a key are there.
class taken_error : public usage_error {
public:
    using usage_error::usage_error;
};

/// Throws what an error of a server means for the sink. `database`, `what`: where, for the message;
/// `words`: the server's. An empty state: it said none, as the connection was lost.
[[noreturn]] void throw_error(const std::string& database, std::string_view what,
                              std::string_view sqlstate, std::string_view words);

/// As throw_error(), of one that came to be while it connected: `words` are libpq's, with all
/// details (PQERRORS_VERBOSE), so that they have the state. `needs_password`: the server wanted
/// one, and there was none.
[[noreturn]] void throw_not_connected(const std::string& database, std::string_view words,
                                      bool needs_password);

} // namespace chainbase::sink::postgres
