#pragma once

#include <archive/fwd.hpp>
#include <tools/chains/chain_model.hpp>

#include <memory>

namespace chainbase {
class database;
}

namespace chainbase::social {

/// The rules of README.md over a database; see chain_model. Paid comments go to the table
/// "comment" of `rows`, found by id and by (author, permlink).
[[nodiscard]] std::unique_ptr<chain_model> make_model(database& state, archive::store& rows);

} // namespace chainbase::social
