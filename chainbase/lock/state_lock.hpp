#pragma once

#include <chainbase/fwd.hpp>
#include <pool_allocator/process_of_origin.hpp>
#include <pool_allocator/trace.hpp>

#include <atomic>
#include <cstdint>

namespace chainbase {

/// The lock between the threads that read a state and those that write it: any number of readers,
/// or one writer. Meets the standard's requirements of a shared mutex but for try_lock, so that
/// std::unique_lock and std::shared_lock take it.
///
/// Phase-fair: a reader that comes while a writer has or awaits the lock waits for that one writer
/// and no other; a writer waits for the readers that were there before it, and for the writers that
/// came before it, each with the readers let in between. So neither side can starve the other,
/// whatever it does (std::shared_mutex of glibc lets readers that overlap keep a writer out for
/// ever; the alternatives are measured in this folder's README).
///
/// Not recursive: a thread that has it in either way and takes it again, in either way, may wait
/// for ever, also when it reads both times: a writer may have come in between.
///
/// While tracing is on, `lock.read.wait` and `lock.write.wait` time the acquisitions that had to
/// wait, `lock.read.hold` and `lock.write.hold` how long it was held, and count every acquisition.
class state_lock {
public:
    state_lock() = default;
    state_lock(const state_lock&) = delete;
    state_lock& operator=(const state_lock&) = delete;

    void lock_shared() noexcept {
        const std::uint32_t writer = readers_in_.fetch_add(reader) & writer_bits;
        if (writer != 0) [[unlikely]]
            await_writer(writer);
    }
    void unlock_shared() noexcept {
        readers_out_.fetch_add(reader);
        // Sequentially consistent, as the writer's two steps are: either it sees this reader leave
        // or this reader sees it.
        if ((readers_in_.load() & present) != 0) [[unlikely]]
            readers_out_.notify_one();
    }

    void lock() noexcept;
    void unlock() noexcept;

    /// Whether this is the process that made it: no other one's threads are kept out.
    [[nodiscard]] bool is_here() const noexcept { return origin_.is_here(); }

    /// @name What holding it is traced as
    /// @{
    static const trace::site read_hold;
    static const trace::site write_hold;
    /// @}

private:
    // readers_in_: how many readers ever came, in steps of `reader`; `present` while a writer has
    // or awaits the lock, and `phase`, which is another one for the next writer.
    static constexpr std::uint32_t phase = 1;
    static constexpr std::uint32_t present = 2;
    static constexpr std::uint32_t writer_bits = phase | present;
    static constexpr std::uint32_t reader = 256;

    [[gnu::cold]] void await_writer(std::uint32_t writer) noexcept;
    [[gnu::cold]] void await_turn(std::uint32_t ticket) noexcept;
    [[gnu::cold]] void await_readers(std::uint32_t came) noexcept;

    std::atomic<std::uint32_t> readers_in_{0};
    std::atomic<std::uint32_t> readers_out_{0}; ///< how many left, in steps of `reader`
    std::atomic<std::uint32_t> tickets_{0};     ///< of writers
    std::atomic<std::uint32_t> served_{0};      ///< the ticket whose turn it is
    process_of_origin origin_;
};

/// What with_read_lock holds: in the writer's process the lock between its threads; in one that
/// only reads its turn among processes, and, after what another process grew and added is looked
/// at, the lock between threads, which keeps two from looking at once.
class read_guard {
public:
    /// `is_writer`: the state is open for writing. Throws what segment::begin_reading and
    /// segment::refresh do, and usage_error in a process that was forked; then nothing is held.
    read_guard(state_lock& threads, segment& state, bool is_writer)
        : threads_(threads), state_(is_writer ? nullptr : &state) {
        if (!threads_.is_here()) [[unlikely]]
            throw_elsewhere(state);
        if (state_) slot_ = take_turn();
        threads_.lock_shared();
    }
    ~read_guard() {
        threads_.unlock_shared();
        if (state_) end_turn();
    }
    read_guard(const read_guard&) = delete;
    read_guard& operator=(const read_guard&) = delete;

    /// Throws the usage_error of a process that was forked.
    [[noreturn]] static void throw_elsewhere(const segment& state);

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
    /// Throws usage_error in a process that was forked; then nothing is held.
    write_guard(state_lock& threads, segment& state) : threads_(threads, state), turn_(state) {}

private:
    struct threads_lock {
        threads_lock(state_lock& of, const segment& state) : lock(of) {
            if (!lock.is_here()) [[unlikely]] // a thread that is not here may have it
                read_guard::throw_elsewhere(state);
            lock.lock();
        }
        threads_lock(const threads_lock&) = delete;
        threads_lock& operator=(const threads_lock&) = delete;
        ~threads_lock() { lock.unlock(); }
        state_lock& lock;
    } threads_;
    write_turn turn_;
};

} // namespace chainbase
