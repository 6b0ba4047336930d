#pragma once

#include <tools/driver/sync/block_source.hpp>

#include <memory>
#include <optional>

namespace chainbase::driver {

/// The blocks of a log as if a peer sent them: what sync costs without a network.
class log_source final : public block_source {
public:
    /// `threads`: as block_feed's.
    log_source(const block_log_reader& log, unsigned threads,
               std::optional<std::uint64_t> stop_at = {});

    [[nodiscard]] event next(std::chrono::milliseconds patience) override;
    void resume(const std::vector<block_place>& last_blocks) override;
    void refuse(std::uint64_t sender, peer_error::severity how, const std::string& reason) override;
    void praise(std::uint64_t) override {}
    void give_back(std::vector<std::shared_ptr<const decoded_block>> used) override;
    [[nodiscard]] counters so_far() const override;

private:
    [[nodiscard]] event next_run();

    block_log_reader log_;
    unsigned threads_;
    std::optional<std::uint64_t> stop_at_;
    std::unique_ptr<block_feed> feed_; ///< after resume()
    block_place last_;
    std::uint64_t bytes_ = 0;
};

} // namespace chainbase::driver
