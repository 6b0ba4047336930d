#pragma once

#include <tools/driver/live/pending_list.hpp>
#include <tools/driver/sync/peer_feed.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>

namespace chainbase::driver::live {

/// The blocks of another source one by one, as if their transactions had come over the network
/// before them: transactions of the next blocks arrive early, in order or shuffled, so that some
/// precede what they depend on.
///
/// Invariants: (1) events keep their order; (2) it buffers no more of the other source than it
/// needs to announce so many, at most `max_ahead` blocks and one run.
class announcing_source final : public block_source {
public:
    struct options {
        std::size_t early = 0;                ///< transactions that arrive early
        std::optional<std::uint64_t> shuffle; ///< seed of the shuffle, among twice as many
    };

    announcing_source(block_source& from, arrivals& to, const options& how);

    /// Sends the early transactions of the buffered blocks.
    void announce();

    [[nodiscard]] event next(std::chrono::milliseconds patience) override;
    void resume(const std::vector<block_place>& last_blocks) override { from_.resume(last_blocks); }
    void refuse(std::uint64_t sender, peer_error::severity how, const std::string& reason) override;
    void mark_useful(std::uint64_t sender) override { from_.mark_useful(sender); }
    void give_back(std::vector<std::shared_ptr<const decoded_block>> used) override {
        from_.give_back(std::move(used));
    }
    [[nodiscard]] counters so_far() const override { return from_.so_far(); }

    /// Limit for blocks with few transactions.
    static constexpr std::size_t max_ahead = 1000;

private:
    struct coming_event {
        event what; ///< with at most one block
        std::size_t announced = 0;
    };
    struct unannounced {
        std::uint64_t event; ///< sequence number
        std::shared_ptr<const decoded_block> from;
        std::uint32_t transaction;
    };

    [[nodiscard]] bool may_look_ahead() const;
    bool fetch(std::chrono::milliseconds patience);
    void add_each(event run);
    void add(event one);
    void announce_one();
    event take_first();

    block_source& from_;
    arrivals& to_;
    options how_;
    std::deque<coming_event> coming_;
    std::uint64_t taken_ = 0;             ///< events before those in coming_
    std::deque<unannounced> unannounced_; ///< of coming_
    std::size_t announced_ = 0;           ///< of coming_
    std::mt19937_64 random_;
};

} // namespace chainbase::driver::live
