#pragma once

#include <tools/driver/block_feed.hpp>
#include <tools/driver/live/block_source.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <vector>

namespace chainbase::driver::live {

/// The blocks of a log as if they came from the network: transactions of the next ones arrive
/// early, in their order or shuffled, so that some come before what they depend on.
class log_source final : public block_source {
public:
    struct options {
        std::uint64_t from = 1;               ///< the first block
        std::optional<std::uint64_t> stop_at; ///< the last
        std::size_t early = 0;                ///< how many transactions have arrived early
        std::optional<std::uint64_t> shuffle; ///< by this seed, among twice as many
    };

    log_source(const block_log_reader& log, const options& how);

    void announce(arrivals& to) override;
    [[nodiscard]] std::shared_ptr<const decoded_block> next(clock::time_point until) override;
    [[nodiscard]] bool ended() const override { return ended_ && coming_.empty(); }

private:
    struct coming_block {
        std::shared_ptr<const decoded_block> block;
        std::size_t announced = 0; ///< of its transactions
    };
    struct unannounced {
        std::uint64_t number; ///< of the block
        std::shared_ptr<const decoded_block> from;
        std::uint32_t transaction;
    };

    bool read_more();
    void look_ahead(std::size_t transactions);
    void announce_one(arrivals& to);

    options how_;
    block_feed feed_;
    std::deque<coming_block> coming_;
    std::deque<unannounced> unannounced_; ///< of coming_
    std::size_t announced_ = 0;           ///< of coming_
    std::mt19937_64 random_;
    bool ended_ = false;
};

} // namespace chainbase::driver::live
