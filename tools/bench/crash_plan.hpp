#pragma once

#include <tools/bench/account.hpp>

#include <cstdint>
#include <vector>

namespace chainbase::bench {

/// The work of the bench `crash`: payments between accounts, a block of them at a time. The same
/// for every engine, and made before a clock runs.
class crash_plan {
public:
    /// Accounts by number. No account is in two payments of a block, so no engine has to read what
    /// it has not committed yet.
    struct payment {
        std::uint32_t from;
        std::uint32_t to;
    };
    using block = std::vector<payment>;

    /// What every account has at first; payments move one unit each.
    static constexpr std::int64_t money_each = 1'000'000;

    /// Requires 2 * payments <= accounts.
    crash_plan(std::uint32_t accounts, std::uint32_t payments, std::uint32_t blocks)
        : accounts_(accounts), payments_(payments), blocks_(blocks) {}

    [[nodiscard]] std::uint32_t accounts() const noexcept { return accounts_; }
    [[nodiscard]] std::uint32_t payments() const noexcept { return payments_; }
    [[nodiscard]] std::uint32_t blocks() const noexcept { return blocks_; }
    /// Among all accounts it shares nothing with its neighbours: a page for each account, mostly.
    [[nodiscard]] block block_of(std::uint64_t number) const { return among(accounts_, number); }
    /// Among the first `accounts` of them.
    [[nodiscard]] block among(std::uint32_t accounts, std::uint64_t number) const;

    [[nodiscard]] static account_name name_of(std::uint64_t account) noexcept;

private:
    std::uint32_t accounts_;
    std::uint32_t payments_;
    std::uint32_t blocks_;
};

} // namespace chainbase::bench
