#pragma once

#include <tools/chains/decoded_block.hpp>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace chainbase::bench {

/// Decoded blocks of the payments chain that make accounts and pay between them at random: the
/// same for every engine and run.
class growth_blocks {
public:
    using blocks = std::vector<std::shared_ptr<const decoded_block>>;

    /// The next blocks, with `count` new accounts in them.
    [[nodiscard]] blocks make_accounts(std::uint32_t count);
    /// The next blocks, with `count` payments between accounts that were made.
    [[nodiscard]] blocks make_payments(std::uint32_t count);

    [[nodiscard]] std::uint32_t accounts() const noexcept { return accounts_; }

    static constexpr std::uint32_t transactions_per_block = 1000;

private:
    template <typename Make>
    blocks make(std::uint32_t count, Make make_one);

    std::mt19937_64 random_{0x636861696e};
    std::uint64_t number_ = 0;
    std::uint32_t accounts_ = 0;
};

} // namespace chainbase::bench
