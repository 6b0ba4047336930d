#include <chainbase/keys.hpp>
#include <tools/bench/growth_blocks.hpp>
#include <tools/block_log/block.hpp>
#include <tools/chains/operations_block.hpp>
#include <tools/chains/payments/operations.hpp>

#include <algorithm>
#include <array>

namespace chainbase::bench {

namespace {

/// Thirteen letters that say nothing about the number, so that names come in no order; one name per
/// number.
payments::account_name name_of(std::uint32_t number) {
    std::uint64_t mixed = chainbase::detail::mix(number + 1);
    std::array<char, 16> text{};
    for (std::size_t i = 0; i < 13; ++i, mixed >>= 5)
        text[i] = "abcdefghijklmnopqrstuvwxyz012345"[mixed & 31];
    return payments::account_name(std::string_view(text.data(), 13));
}

} // namespace

template <typename Make>
auto growth_blocks::make(std::uint32_t count, Make make_one) -> blocks {
    blocks made;
    while (count != 0) {
        const std::uint32_t here = std::min(count, transactions_per_block);
        block next;
        next.number = ++number_;
        next.timestamp = static_cast<std::int64_t>(number_);
        for (std::uint32_t i = 0; i < here; ++i)
            next.transactions.push_back({{payments::encode(make_one())}});
        made.push_back(
            std::make_shared<const operations_block<payments::operation>>(encode_block(next)));
        count -= here;
    }
    return made;
}

auto growth_blocks::make_accounts(std::uint32_t count) -> blocks {
    constexpr std::int64_t balance = 1'000'000;
    return make(count, [&] {
        return payments::operation(payments::account_create{name_of(accounts_++), balance});
    });
}

auto growth_blocks::make_payments(std::uint32_t count) -> blocks {
    return make(count, [&] {
        const auto from = static_cast<std::uint32_t>(random_() % accounts_);
        const auto step = static_cast<std::uint32_t>(random_() % (accounts_ - 1) + 1);
        const auto to = static_cast<std::uint32_t>((std::uint64_t{from} + step) % accounts_);
        return payments::operation(payments::payment{name_of(from), name_of(to), 1});
    });
}

} // namespace chainbase::bench
