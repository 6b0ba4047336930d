#include <tools/chains/payments/operations.hpp>
#include <tools/driver/live/workload.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace chainbase::driver::live {

namespace {

constexpr std::int64_t money_of_each = 1'000'000'000;
constexpr std::uint32_t accounts_per_block = 10'000;
constexpr std::uint64_t highest_amount = 100;

payments::account_name payments_name_of(std::uint64_t number) {
    return payments::account_name(fmt::format("user{:08}", number));
}

class payments_workload final : public workload {
public:
    payments_workload(std::uint32_t accounts, std::uint64_t seed)
        : workload(std::string(payments::chain_name), true), accounts_(accounts), random_(seed) {}

    std::optional<block> set_up(std::uint64_t number, std::int64_t time) override {
        if (made_ == accounts_) return std::nullopt;
        block one{number, time, {}};
        for (const std::uint32_t end = std::min(accounts_, made_ + accounts_per_block); made_ < end;
             ++made_)
            one.transactions.push_back({{payments::encode(
                payments::account_create{payments_name_of(made_), money_of_each})}});
        return one;
    }

private:
    transaction make(std::int64_t) override {
        const std::uint64_t from = random_() % accounts_;
        const std::uint64_t to = (from + 1 + random_() % (accounts_ - 1)) % accounts_;
        const auto amount = static_cast<std::int64_t>(1 + random_() % highest_amount);
        return {{payments::encode(
            payments::payment{payments_name_of(from), payments_name_of(to), amount})}};
    }

    std::uint32_t accounts_;
    std::uint32_t made_ = 0;
    std::mt19937_64 random_;
};

} // namespace

std::unique_ptr<workload> make_payments_workload(std::uint32_t accounts, std::uint64_t seed) {
    return std::make_unique<payments_workload>(accounts, seed);
}

} // namespace chainbase::driver::live
