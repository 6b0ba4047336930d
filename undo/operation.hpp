#pragma once

#include <undo/undo_log.hpp>

namespace chainbase {

/// One all-or-nothing change: what was stored since its begin is taken back unless complete() was
/// reached. Whatever throws in between, the state is what it was.
///
/// While it lives the calling thread stores through the log's barrier. Operations do not nest.
class operation {
public:
    /// Begins, with room for `log_bytes` of records. Throws usage_error within another operation,
    /// out_of_space_error, limit_error; then nothing began.
    operation(undo_log& log, std::size_t log_bytes) : log_(log) { log_.begin_operation(log_bytes); }
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;
    ~operation() {
        if (!completed_) roll_back();
    }

    /// Frees the buffers that the operation let go and makes the change permanent (within its
    /// session). Throws out_of_space_error when the log cannot grow for that; then it did not
    /// happen.
    void complete() {
        if (size_classes* buffers = log_.buffers()) buffers->free_collected();
        log_.complete_operation();
        completed_ = true;
    }

private:
    void roll_back() noexcept {
        if (size_classes* buffers = log_.buffers()) buffers->forget_collected();
        log_.roll_back_operation();
    }

    undo_log& log_;
    bool completed_ = false;
};

} // namespace chainbase
