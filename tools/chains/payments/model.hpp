#pragma once

#include <tools/chains/chain_model.hpp>

#include <memory>

namespace chainbase {
class database;
}

namespace chainbase::payments {

/// The rules of README.md over a database; see chain_model. Nothing is ever finished here, so
/// nothing goes to the archive.
[[nodiscard]] std::unique_ptr<chain_model> make_model(database& state);

} // namespace chainbase::payments
