#pragma once

#include <tools/driver/live/arrivals.hpp>

#include <memory>

namespace chainbase::driver::live {

/// Where the blocks of a node come from: a log, or a peer. Used by the thread that applies them.
class block_source {
public:
    block_source() = default;
    block_source(const block_source&) = delete;
    block_source& operator=(const block_source&) = delete;
    virtual ~block_source() = default;

    /// Sends those transactions of coming blocks that reach the node before their block does.
    virtual void announce(arrivals& to) { static_cast<void>(to); }
    /// The next block, which follows the one before. Waits for it, at most until `until`; null when
    /// none has come by then.
    [[nodiscard]] virtual std::shared_ptr<const decoded_block> next(clock::time_point until) = 0;
    /// Whether no block will ever come.
    [[nodiscard]] virtual bool ended() const = 0;
};

} // namespace chainbase::driver::live
