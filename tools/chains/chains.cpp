#include <pool_allocator/error.hpp>
#include <tools/chains/chain_names.hpp>
#include <tools/chains/chains.hpp>
#include <tools/chains/operations_block.hpp>
#include <tools/chains/payments/model.hpp>
#include <tools/chains/social/model.hpp>
#include <tools/chains/swap/model.hpp>

#include <algorithm>
#include <array>

namespace chainbase {
namespace {

using model_maker = std::unique_ptr<chain_model> (*)(database&, archive::store&);

struct known_chain {
    std::string_view name;
    block_decoder decode;
    model_maker make_model;
};

template <typename Operation>
std::shared_ptr<const decoded_block> decode(byte_view encoded) {
    return std::make_shared<const operations_block<Operation>>(encoded);
}

template <std::unique_ptr<chain_model> (*make)(database&)>
std::unique_ptr<chain_model> without_archive(database& state, archive::store&) {
    return make(state);
}

constexpr std::array known_chains{
    known_chain{social::chain_name, decode<social::operation>, social::make_model},
    known_chain{social::generated_chain_name, decode<social::operation>, social::make_model},
    known_chain{swap::chain_name, decode<swap::operation>, without_archive<swap::make_model>},
    known_chain{payments::chain_name, decode<payments::operation>,
                without_archive<payments::make_model>},
};
static_assert(std::ranges::equal(known_chains, chain_names, {}, &known_chain::name));

const known_chain& find(std::string_view chain) {
    std::string names;
    for (const known_chain& one : known_chains) {
        if (one.name == chain) return one;
        names += (names.empty() ? "" : ", ") + std::string(one.name);
    }
    throw usage_error("there is no model for the chain \"" + std::string(chain) + "\", only for " +
                      names + "; use a block log of one of them");
}

} // namespace

void require_known_chain(std::string_view chain) {
    static_cast<void>(find(chain));
}

block_decoder decoder_of(std::string_view chain) {
    return find(chain).decode;
}

std::unique_ptr<chain_model> make_chain_model(std::string_view chain, database& state,
                                              archive::store& rows) {
    return find(chain).make_model(state, rows);
}

} // namespace chainbase
