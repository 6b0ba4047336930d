#pragma once

#include <tests/support/scratch_state.hpp>
#include <tests/support/state_files.hpp>

#include <chrono>

namespace chainbase::test {

/// Checkpoints are made when they are asked for, and at the end.
inline open_options with_checkpoints() {
    open_options how = quick_options();
    how.promise = durability::checkpoint;
    how.checkpoints = {std::chrono::milliseconds(0), 0};
    return how;
}

} // namespace chainbase::test
