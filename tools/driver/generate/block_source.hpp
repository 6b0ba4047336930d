#pragma once

#include <tools/block_log/block.hpp>
#include <tools/driver/generate/mix.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace chainbase::generate {

/// What a generated chain is to be like.
struct chain_options {
    std::string chain = "social"; ///< or "payments"
    std::uint64_t operations = 0; ///< in all, those that create the first accounts included
    std::uint64_t seed = 1;
    std::uint32_t accounts = 0; ///< created up front; 0: a fiftieth of the operations
    std::uint32_t transactions_per_block = 50; ///< on average
    std::uint32_t skew_milli = 1000;      ///< how unevenly accounts are active; 0: all the same
    operation_mix mix;                    ///< of the social chain
    std::uint32_t cash_out_percent = 100; ///< of the time that the data has until a cash-out
    std::optional<std::uint32_t> paid_percent; ///< of the comments; nothing: as the data has it
};

/// The accounts that options come to when they name none.
[[nodiscard]] std::uint32_t usual_accounts(std::uint64_t operations) noexcept;

/// Gives the blocks of a chain one after the other; the same for the same options, with every
/// compiler. Not thread-safe.
class block_source {
public:
    block_source() = default;
    block_source(const block_source&) = delete;
    block_source& operator=(const block_source&) = delete;
    virtual ~block_source() = default;

    /// The next block, valid by the chain's rules behind those before it; nothing behind the last.
    [[nodiscard]] virtual std::optional<block> next() = 0;
};

/// Throws usage_error for a chain that cannot be generated, and for numbers that do not fit
/// together.
[[nodiscard]] std::unique_ptr<block_source> make_block_source(const chain_options& options);

} // namespace chainbase::generate
