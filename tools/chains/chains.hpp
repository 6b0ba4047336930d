#pragma once

#include <archive/fwd.hpp>
#include <tools/chains/chain_model.hpp>

#include <memory>
#include <string_view>

/// The chains that the tools know, by the name that a block log gives.
namespace chainbase {

class database;

/// Throws usage_error naming the chains that are known unless `chain` is one of them: to be asked
/// before a state is made for it.
void require_known_chain(std::string_view chain);

/// Decodes one block of a chain, as a log keeps it. Throws damaged_error when its frame is
/// malformed. Any thread.
using block_decoder = std::shared_ptr<const decoded_block> (*)(byte_view encoded);

/// The decoder of a chain. Throws usage_error for one that is not known.
[[nodiscard]] block_decoder decoder_of(std::string_view chain);

/// The model of a chain, its types registered in `state`. Throws usage_error for one that is not
/// known, and what registering types and opening tables throws.
[[nodiscard]] std::unique_ptr<chain_model> make_chain_model(std::string_view chain, database& state,
                                                            archive::store& rows);

/// The models by themselves: the rules of each chain's README.md over a database. In payments and
/// swap nothing is ever finished, so nothing goes to the archive; paid comments of social go to the
/// table "comment" of `rows`, found by id and by (author, permlink).
/// @{
namespace payments {
[[nodiscard]] std::unique_ptr<chain_model> make_model(database& state);
}
namespace swap {
[[nodiscard]] std::unique_ptr<chain_model> make_model(database& state);
}
namespace social {
[[nodiscard]] std::unique_ptr<chain_model> make_model(database& state, archive::store& rows);
}
/// @}

} // namespace chainbase
