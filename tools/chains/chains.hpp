#pragma once

#include <archive/fwd.hpp>
#include <tools/chains/chain_model.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

/// The chains known to the tools, by the name in a block log's header.
namespace chainbase {

class database;
class migration;
class snapshot;

/// Throws usage_error naming the known chains unless `chain` is one of them. Call it before making
/// a state for it.
void require_known_chain(std::string_view chain);

/// Decodes one block of a chain, as a log keeps it. Throws damaged_error when its frame is
/// malformed. Any thread.
using block_decoder = std::shared_ptr<const decoded_block> (*)(byte_view encoded);

/// The decoder of a chain. Throws usage_error for an unknown chain.
[[nodiscard]] block_decoder decoder_of(std::string_view chain);

/// The model of a chain, its types registered in `state`. Throws usage_error for an unknown chain,
/// and what registering types and opening tables throws.
[[nodiscard]] std::unique_ptr<chain_model> make_chain_model(std::string_view chain, database& state,
                                                            archive::store& rows);

/// Names the types of a chain's model as this program declares them, so that a state of another
/// version is taken over. Throws usage_error for an unknown chain.
void name_types(std::string_view chain, migration& to);

/// Answers a query as a node's API users would make it: `question` selects its kind (an account by
/// name, a comment with its votes, the next cash-outs, ...) and its subject. Returns a number that
/// depends on everything read. Throws what reading a snapshot throws. Any thread.
using answerer = std::uint64_t (*)(const snapshot& from, std::uint64_t question);

/// That of a chain. Throws usage_error for an unknown chain.
[[nodiscard]] answerer answerer_of(std::string_view chain);

/// The models alone: the rules of each chain's README.md over a database. Payments and swap never
/// finish an object, so they archive nothing; social moves paid comments to the table "comment" of
/// `rows`, found by id and by (author, permlink).
/// @{
namespace payments {
[[nodiscard]] std::unique_ptr<chain_model> make_model(database& state);
[[nodiscard]] std::uint64_t answer(const snapshot& from, std::uint64_t question);
void name_types(migration& to);
} // namespace payments
namespace swap {
[[nodiscard]] std::unique_ptr<chain_model> make_model(database& state);
[[nodiscard]] std::uint64_t answer(const snapshot& from, std::uint64_t question);
void name_types(migration& to);
} // namespace swap
namespace social {
[[nodiscard]] std::unique_ptr<chain_model> make_model(database& state, archive::store& rows);
[[nodiscard]] std::uint64_t answer(const snapshot& from, std::uint64_t question);
void name_types(migration& to);
} // namespace social
/// @}

} // namespace chainbase
