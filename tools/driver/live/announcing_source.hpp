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
/// before them: those of the next blocks arrive early, in their order or shuffled, so that some
/// come before what they depend on.
///
/// Invariants: (1) events keep their order; (2) of the other source no more is held than what is
/// needed to announce so many, at most `most_ahead` blocks and one run of them.
class announcing_source final : public block_source {
public:
    struct options {
        std::size_t early = 0;                ///< how many transactions have arrived early
        std::optional<std::uint64_t> shuffle; ///< by this seed, among twice as many
    };

    announcing_source(block_source& from, arrivals& to, const options& how);

    /// Sends those transactions that arrive before their block; of the blocks that are there.
    void announce();

    [[nodiscard]] event next(std::chrono::milliseconds patience) override;
    void resume(const std::vector<block_place>& last_blocks) override { from_.resume(last_blocks); }
    void refuse(std::uint64_t sender, peer_error::severity how, const std::string& reason) override;
    void praise(std::uint64_t sender) override { from_.praise(sender); }
    void give_back(std::vector<std::shared_ptr<const decoded_block>> used) override {
        from_.give_back(std::move(used));
    }
    [[nodiscard]] counters so_far() const override { return from_.so_far(); }

    /// However few transactions they have.
    static constexpr std::size_t most_ahead = 1000;

private:
    struct coming_event {
        event what; ///< with one block, if with any
        std::size_t announced = 0;
    };
    struct unannounced {
        std::uint64_t event; ///< the how manieth of all that came
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
    std::uint64_t taken_ = 0;             ///< events that came before those
    std::deque<unannounced> unannounced_; ///< of coming_
    std::size_t announced_ = 0;           ///< of coming_
    std::mt19937_64 random_;
};

} // namespace chainbase::driver::live
