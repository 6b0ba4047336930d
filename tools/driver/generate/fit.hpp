#pragma once

#include <tools/driver/generate/measures.hpp>

#include <string>

namespace chainbase::generate {

/// What was measured, as the source text of a header that defines `steem_2016_fit`: how
/// steem_2016_fit.hpp was made, and can be made again. Requires comments and votes.
[[nodiscard]] std::string fit_header(const measures& of);

} // namespace chainbase::generate
