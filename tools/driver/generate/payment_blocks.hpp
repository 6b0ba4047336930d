#pragma once

#include <tools/chains/payments/operations.hpp>
#include <tools/driver/generate/activity.hpp>
#include <tools/driver/generate/block_builder.hpp>
#include <tools/driver/generate/block_source.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace chainbase::generate {

/// Accounts with money, then payments among them: who pays and who is paid is drawn by activity,
/// the same for all at skew 0. Nobody pays what he does not have.
class payment_blocks final : public block_source {
public:
    explicit payment_blocks(const chain_options& options);

    [[nodiscard]] std::optional<block> next() override;

private:
    [[nodiscard]] payments::operation create_account();
    [[nodiscard]] payments::operation pay();

    random_numbers random_;
    block_builder builder_;
    activity active_;
    std::vector<payments::account_name> names_;
    std::vector<std::int64_t> balances_;
};

} // namespace chainbase::generate
