#pragma once

#include <chainbase/segment.hpp>
#include <chainbase/state_lock.hpp>

#include <cstdint>

namespace chainbase {

/// What with_read_lock holds: in the writer's process the lock between its threads; in one that
/// only reads its turn among processes, and, after what another process grew and added is looked
/// at, the lock between threads, which keeps two from looking at once.
class read_guard {
public:
    /// Throws what segment::begin_reading and segment::refresh do; then nothing is held.
    read_guard(state_lock& threads, segment& state) : threads_(threads), state_(state) {
        if (!state_.writable()) slot_ = take_turn();
        threads_.lock_shared();
    }
    ~read_guard() {
        threads_.unlock_shared();
        if (!state_.writable()) state_.end_reading(slot_);
    }
    read_guard(const read_guard&) = delete;
    read_guard& operator=(const read_guard&) = delete;

private:
    [[nodiscard]] std::uint32_t take_turn();

    state_lock& threads_;
    segment& state_;
    std::uint32_t slot_ = 0;
};

/// The writer's turn among processes, unless it is in it already; nothing in one that only reads.
class write_turn {
public:
    explicit write_turn(segment& state) : state_(state), is_ours_(state.begin_writing()) {}
    ~write_turn() {
        if (is_ours_) state_.end_writing();
    }
    write_turn(const write_turn&) = delete;
    write_turn& operator=(const write_turn&) = delete;

private:
    segment& state_;
    bool is_ours_;
};

} // namespace chainbase
