#pragma once

#include <chainbase/fwd.hpp>
#include <chainbase/state_lock.hpp>

#include <cstdint>

namespace chainbase {

/// What with_read_lock holds: in the writer's process the lock between its threads; in one that
/// only reads its turn among processes, and, after what another process grew and added is looked
/// at, the lock between threads, which keeps two from looking at once.
class read_guard {
public:
    /// `is_writer`: the state is open for writing. Throws what segment::begin_reading and
    /// segment::refresh do; then nothing is held.
    read_guard(state_lock& threads, segment& state, bool is_writer)
        : threads_(threads), state_(is_writer ? nullptr : &state) {
        if (state_) slot_ = take_turn();
        threads_.lock_shared();
    }
    ~read_guard() {
        threads_.unlock_shared();
        if (state_) end_turn();
    }
    read_guard(const read_guard&) = delete;
    read_guard& operator=(const read_guard&) = delete;

private:
    [[nodiscard]] std::uint32_t take_turn();
    void end_turn() noexcept;

    state_lock& threads_;
    segment* state_; ///< null in the writer's process, which needs no turn to read
    std::uint32_t slot_ = 0;
};

/// The writer's turn among processes, unless it is in it already; nothing in one that only reads.
class write_turn {
public:
    explicit write_turn(segment& state);
    ~write_turn();
    write_turn(const write_turn&) = delete;
    write_turn& operator=(const write_turn&) = delete;

private:
    segment& state_;
    bool is_ours_;
};

/// What with_write_lock holds: the lock between the threads, then the writer's turn.
class write_guard {
public:
    write_guard(state_lock& threads, segment& state) : threads_(threads), turn_(state) {}

private:
    struct threads_lock {
        explicit threads_lock(state_lock& of) : lock(of) { lock.lock(); }
        threads_lock(const threads_lock&) = delete;
        threads_lock& operator=(const threads_lock&) = delete;
        ~threads_lock() { lock.unlock(); }
        state_lock& lock;
    } threads_;
    write_turn turn_;
};

} // namespace chainbase
