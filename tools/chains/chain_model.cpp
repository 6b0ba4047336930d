#include <pool_allocator/error.hpp>
#include <tools/chains/chain_model.hpp>
#include <tools/chains/social/model.hpp>
#include <tools/chains/swap/model.hpp>

namespace chainbase {

std::unique_ptr<chain_model> make_chain_model(std::string_view chain, database& state,
                                              archive::store& rows) {
    if (chain == social::chain_name) return social::make_model(state, rows);
    if (chain == swap::chain_name) return swap::make_model(state);
    throw usage_error("there is no model for the chain \"" + std::string(chain) + "\", only for " +
                      std::string(social::chain_name) + " and " + std::string(swap::chain_name));
}

} // namespace chainbase
