#include <tools/driver/progress.hpp>
#include <tools/driver/sync/sync_progress.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace chainbase::driver {

sync_progress::sync_progress(const chain_state& state, block_feed::waiting waited)
    : state_(state), operations_before_(state.operations()), operations_then_(operations_before_),
      head_then_(state.head_id()), seen_(head_then_), waited_then_(waited) {}

double sync_progress::seconds() const {
    return std::chrono::duration<double>(last_block_ - begin_).count();
}

void sync_progress::advance(block_feed::waiting waited) {
    const auto now = clock::now();
    const block_id head = state_.head_id();
    if (head != seen_) last_block_ = now;
    seen_ = head;
    if (now < next_line_) return;
    next_line_ = now + std::chrono::seconds(1);
    if (head == head_then_) return;
    const double window = std::chrono::duration<double>(now - last_line_).count();
    const std::uint64_t operations = state_.operations();
    const double waiting =
        std::chrono::duration<double>(waited.for_blocks - waited_then_.for_blocks).count();
    spdlog::info("block {}, irreversible {}: {} blocks, {:.0f} operations/s, memory {}, waited for "
                 "blocks {:.0f} % of the time",
                 state_.head(), state_.irreversible(), state_.blocks(),
                 operations > operations_then_
                     ? static_cast<double>(operations - operations_then_) / window
                     : 0,
                 bytes_in_words(state_.memory().total), 100 * waiting / window);
    last_line_ = now;
    operations_then_ = operations;
    head_then_ = head;
    waited_then_ = waited;
}

void sync_progress::finish(const char* how) const {
    const double time = seconds();
    const std::uint64_t operations = state_.operations();
    const std::uint64_t done =
        operations > operations_before_ ? operations - operations_before_ : 0;
    spdlog::info("block {}, irreversible {}: {} blocks, {:.0f} operations/s, {:.1f} s, {}",
                 state_.head(), state_.irreversible(), state_.blocks(),
                 time > 0 ? static_cast<double>(done) / time : 0, time, how);
}

} // namespace chainbase::driver
