#include <tools/bench/baselines/classical_chain.hpp>
#include <tools/bench/chain_engines.hpp>

namespace chainbase::bench {

std::unique_ptr<chain_engine> make_classical_hashed_chain(std::string_view chain,
                                                          const std::filesystem::path& directory) {
    return std::make_unique<classical_chain<hashed_keys::as_hashes>>(chain, directory);
}

} // namespace chainbase::bench
