#include <chainbase/state_guard.hpp>

#include <mutex>

namespace chainbase {

std::uint32_t read_guard::take_turn() {
    const std::uint32_t slot = state_.begin_reading();
    try {
        if (state_.is_outdated()) [[unlikely]] {
            const std::unique_lock alone(threads_); // no writer waits behind it: this only reads
            if (state_.is_outdated()) state_.refresh();
        }
    } catch (...) {
        state_.end_reading(slot);
        throw;
    }
    return slot;
}

} // namespace chainbase
