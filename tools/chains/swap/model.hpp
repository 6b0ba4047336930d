#pragma once

#include <tools/chains/chain_model.hpp>

namespace chainbase::swap {

/// What the block logs of this chain call it.
inline constexpr std::string_view chain_name = "eos-swap-2022";

/// The rules of README.md over a database; see chain_model. Nothing is ever finished here, so
/// nothing goes to the archive.
[[nodiscard]] std::unique_ptr<chain_model> make_model(database& state);

} // namespace chainbase::swap
