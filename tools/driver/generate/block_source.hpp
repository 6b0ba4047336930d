#pragma once

#include <tools/block_log/block.hpp>
#include <tools/driver/generate/mix.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::generate {

/// Properties of a generated chain.
struct chain_options {
    std::string chain = "social"; ///< or "payments"
    std::uint64_t operations = 0; ///< in total, including those that create the first accounts
    std::uint64_t seed = 1;
    std::uint32_t accounts = 0; ///< created at the start; 0: a fiftieth of the operations
    std::uint32_t transactions_per_block = 50; ///< on average
    std::uint32_t skew_milli = 1000;           ///< how uneven the accounts' activity is; 0: uniform
    operation_mix mix;                         ///< of the social chain
    std::uint32_t cash_out_percent = 100;      ///< of the data's time until a cash-out
    std::optional<std::uint32_t> paid_percent; ///< share of paid comments; nothing: as in the data
};

/// The default number of accounts.
[[nodiscard]] std::uint32_t default_accounts(std::uint64_t operations) noexcept;

/// Generates the blocks of a chain one after the other; equal options give equal blocks with every
/// compiler. Not thread-safe.
class block_source {
public:
    block_source() = default;
    block_source(const block_source&) = delete;
    block_source& operator=(const block_source&) = delete;
    virtual ~block_source() = default;

    /// The next block, valid by the chain's rules after the blocks before it; nothing behind the
    /// last.
    [[nodiscard]] virtual std::optional<block> next() = 0;
};

/// Throws usage_error for a chain that cannot be generated, and for inconsistent numbers.
[[nodiscard]] std::unique_ptr<block_source> make_block_source(const chain_options& options);

} // namespace chainbase::generate
