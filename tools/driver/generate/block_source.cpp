#include <pool_allocator/error.hpp>
#include <tools/chains/payments/operations.hpp>
#include <tools/chains/social/operations.hpp>
#include <tools/driver/generate/block_source.hpp>
#include <tools/driver/generate/payment_blocks.hpp>
#include <tools/driver/generate/social_blocks.hpp>
#include <tools/driver/generate/texts.hpp>

#include <algorithm>

namespace chainbase::generate {
namespace {

constexpr std::uint32_t fewest_accounts = 10;
constexpr std::uint32_t most_usual_accounts = 1'000'000;

void require_valid(const chain_options& options) {
    if (options.accounts < 2 || options.accounts > most_accounts)
        throw usage_error("a chain has 2 to " + std::to_string(most_accounts) + " accounts");
    if (options.accounts > options.operations / 2)
        throw usage_error(std::to_string(options.operations) + " operations are too few for " +
                          std::to_string(options.accounts) +
                          " accounts: at most half of them may create accounts up front");
}

} // namespace

std::uint32_t usual_accounts(std::uint64_t operations) noexcept {
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(operations / 50, fewest_accounts, most_usual_accounts));
}

std::unique_ptr<block_source> make_block_source(const chain_options& options) {
    chain_options complete = options;
    if (complete.accounts == 0) complete.accounts = usual_accounts(complete.operations);
    require_valid(complete);
    if (complete.chain == social::generated_chain_name)
        return std::make_unique<social_blocks>(complete);
    if (complete.chain == payments::chain_name) return std::make_unique<payment_blocks>(complete);
    throw usage_error("the chain \"" + complete.chain + "\" cannot be generated, only " +
                      std::string(social::generated_chain_name) + " and " +
                      std::string(payments::chain_name));
}

} // namespace chainbase::generate
