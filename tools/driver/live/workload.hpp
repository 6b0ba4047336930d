#pragma once

#include <tools/block_log/block.hpp>
#include <tools/chains/chains.hpp>
#include <tools/driver/live/arrivals.hpp>
#include <tools/interruption.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver::live {

/// What the harness sends: blocks that set a chain up, then transactions, encoded and decoded ahead
/// of the measurement, so that sending one costs next to nothing.
///
/// prepare() and setting up are for one thread; take() for one thread, not while one prepares.
class workload {
public:
    virtual ~workload() = default;
    workload(const workload&) = delete;
    workload& operator=(const workload&) = delete;

    [[nodiscard]] const std::string& chain() const noexcept { return chain_; }
    /// The next block that sets the chain up, made for the number and time it will have; nothing
    /// behind the last.
    [[nodiscard]] virtual std::optional<block> set_up(std::uint64_t number, std::int64_t time) = 0;

    /// Makes at least `count` transactions ready, unless a signal comes. They will be applied
    /// before the time `until`. Throws usage_error when they are too many to be kept.
    void prepare(std::size_t count, std::int64_t until, const catch_interruption& signals);
    /// Consecutive ones of those that are ready: at most `most`, and at least one. Throws
    /// usage_error when none is ready.
    [[nodiscard]] parcel take(std::uint32_t most);

protected:
    /// `repeats`: the same transaction may be sent again and again, so that a million are enough.
    workload(std::string chain, bool repeats)
        : chain_(std::move(chain)), decode_(decoder_of(chain_)), repeats_(repeats) {}

private:
    /// One that can be applied at any time before `until`, in any block.
    virtual transaction make(std::int64_t until) = 0;

    std::string chain_;
    block_decoder decode_;
    bool repeats_;
    std::vector<std::shared_ptr<const decoded_block>> ready_;
    std::size_t block_ = 0; ///< of ready_, where the next ones are taken from
    std::uint32_t transaction_ = 0;
};

/// Random payments between accounts, each of which begins with money enough.
[[nodiscard]] std::unique_ptr<workload> make_payments_workload(std::uint32_t accounts,
                                                               std::uint64_t seed);

/// What a social chain's users do, in the shares that README.md states: custom operations, votes on
/// posts that were there before, comments, transfers, claims, new accounts.
[[nodiscard]] std::unique_ptr<workload> make_social_workload(std::uint32_t accounts,
                                                             std::uint64_t seed);

} // namespace chainbase::driver::live
