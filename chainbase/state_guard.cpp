#include <chainbase/segment.hpp>
#include <chainbase/state_guard.hpp>

#include <mutex>

namespace chainbase {

std::uint32_t read_guard::take_turn() {
    const std::uint32_t slot = state_->begin_reading();
    try {
        if (state_->is_outdated()) [[unlikely]] {
            const std::unique_lock alone(threads_); // no writer waits behind it: this only reads
            if (state_->is_outdated()) state_->refresh();
        }
    } catch (...) {
        state_->end_reading(slot);
        throw;
    }
    return slot;
}

void read_guard::end_turn() noexcept {
    state_->end_reading(slot_);
}

write_turn::write_turn(segment& state) : state_(state), is_ours_(state.begin_writing()) {}

write_turn::~write_turn() {
    if (is_ours_) state_.end_writing();
}

} // namespace chainbase
