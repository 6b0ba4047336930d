#include <tools/driver/generate/payment_blocks.hpp>
#include <tools/driver/generate/steem_2016_fit.hpp>
#include <tools/driver/generate/texts.hpp>

#include <algorithm>

namespace chainbase::generate {
namespace {

constexpr std::int64_t first_balance = 1'000'000'000;
constexpr std::uint64_t largest_payment = 1'000'000;

} // namespace

payment_blocks::payment_blocks(const chain_options& options)
    : random_(options.seed),
      builder_(options.operations, options.accounts, options.transactions_per_block),
      active_(options.accounts, steem_2016_fit.voter_per_100_000,
              steem_2016_fit.of(distribution::votes_of_voter).points, options.skew_milli) {}

std::optional<block> payment_blocks::next() {
    return builder_.next(random_, [&] { return create_account(); }, [&] { return pay(); });
}

payments::operation payment_blocks::create_account() {
    names_.push_back(name_of_account(static_cast<std::uint32_t>(names_.size())));
    balances_.push_back(first_balance);
    return payments::account_create{names_.back(), first_balance};
}

payments::operation payment_blocks::pay() {
    const auto accounts = static_cast<std::uint32_t>(names_.size());
    std::uint32_t from = active_.draw(random_);
    while (balances_[from] == 0) // the money is somewhere
        from = (from + 1) % accounts;
    std::uint32_t to = active_.draw(random_);
    if (to == from) to = (to + 1) % accounts;
    const auto wanted = static_cast<std::int64_t>(random_.between(1, largest_payment));
    const std::int64_t amount = std::min(wanted, balances_[from]);
    balances_[from] -= amount;
    balances_[to] += amount;
    return payments::payment{names_[from], names_[to], amount};
}

} // namespace chainbase::generate
