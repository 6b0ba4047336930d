#include <pool_allocator/error.hpp>
#include <tools/chains/chain_model.hpp>
#include <tools/chains/social/model.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/chains/swap/model.hpp>
#include <tools/chains/swap/operations.hpp>

namespace chainbase {

void require_chain_model(std::string_view chain) {
    if (chain == social::chain_name || chain == swap::chain_name) return;
    throw usage_error("there is no model for the chain \"" + std::string(chain) + "\", only for " +
                      std::string(social::chain_name) + " and " + std::string(swap::chain_name) +
                      "; use a block log of one of them");
}

std::unique_ptr<chain_model> make_chain_model(std::string_view chain, database& state,
                                              archive::store& rows) {
    require_chain_model(chain);
    if (chain == social::chain_name) return social::make_model(state, rows);
    return swap::make_model(state);
}

} // namespace chainbase
