#pragma once

#include <chainbase/fwd.hpp>
#include <pool_allocator/base/process_of_origin.hpp>
#include <pool_allocator/trace/trace.hpp>

#include <atomic>
#include <cstdint>
#include <optional>

namespace chainbase {

enum class lock_kind { read, write };

/// The lock between the threads that read a state and those that write it: any number of readers,
/// or one writer. Meets the standard's requirements of a shared mutex but for try_lock, so that
/// std::unique_lock and std::shared_lock take it.
///
/// Phase-fair: a reader that arrives while a writer has or awaits the lock waits for that one
/// writer and no other; a writer waits for the readers that arrived before it, and for the writers
/// that arrived before it, each with the readers admitted in between. So neither side can starve
/// the other (std::shared_mutex of glibc lets overlapping readers keep a writer out for ever; the
/// alternatives are figures: tools/bench/figures.md, Locks).
///
/// Not recursive: a thread that holds it and takes it again might wait for ever, even when it reads
/// both times, since a writer may have arrived in between. The guards below throw usage_error
/// instead.
///
/// While tracing is on, `lock.read.wait` and `lock.write.wait` time the acquisitions that had to
/// wait; `lock.read.hold` and `lock.write.hold` time how long it was held, and count every
/// acquisition.
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

    /// Whether this process created it; it does not exclude the threads of another process.
    [[nodiscard]] bool is_here() const noexcept { return origin_.is_here(); }

    /// How the calling thread holds it through a guard; nothing if it does not.
    [[nodiscard]] std::optional<lock_kind> held_by_this_thread() const noexcept;
    /// Throws usage_error when the calling thread already holds it through a guard.
    void require_not_held(lock_kind wanted, const segment& state) const {
        if (newest_held_) [[unlikely]]
            refuse_if_held(wanted, state);
    }

    /// Records that the calling thread holds a lock, from acquisition to release. Guards of
    /// different states nest.
    class held {
    public:
        held(const state_lock& lock, lock_kind how) noexcept
            : lock_(lock), how_(how), before_(newest_held_) {
            newest_held_ = this;
        }
        held(const held&) = delete;
        held& operator=(const held&) = delete;
        ~held() { newest_held_ = before_; }

    private:
        friend class state_lock;
        const state_lock& lock_;
        lock_kind how_;
        const held* before_;
    };

    /// @name Trace sites of holding it
    /// @{
    static const trace::site read_hold;
    static const trace::site write_hold;
    /// @}

private:
    // readers_in_: how many readers ever arrived, in steps of `reader`; `present` while a writer
    // has or awaits the lock, and `phase`, which alternates from writer to writer.
    static constexpr std::uint32_t phase = 1;
    static constexpr std::uint32_t present = 2;
    static constexpr std::uint32_t writer_bits = phase | present;
    static constexpr std::uint32_t reader = 256;

    [[gnu::cold]] void refuse_if_held(lock_kind wanted, const segment& state) const;
    [[gnu::cold]] void await_writer(std::uint32_t writer) noexcept;
    [[gnu::cold]] void await_turn(std::uint32_t ticket) noexcept;
    [[gnu::cold]] void await_readers(std::uint32_t came) noexcept;

    std::atomic<std::uint32_t> readers_in_{0};
    std::atomic<std::uint32_t> readers_out_{0}; ///< how many left, in steps of `reader`
    std::atomic<std::uint32_t> tickets_{0};     ///< of writers
    std::atomic<std::uint32_t> served_{0};      ///< the ticket whose turn it is
    process_of_origin origin_;
    static inline constinit thread_local const held* newest_held_ = nullptr;
};

/// The guard of with_read_lock. In the writer's process it holds the lock between threads. In a
/// read-only process it holds a turn of process_lock and, after refreshing the mappings, the lock
/// between threads, which keeps two threads from refreshing at once.
class read_guard {
public:
    /// `is_writer`: the state is open for writing. Throws what segment::begin_reading and
    /// segment::refresh throw, and usage_error in a forked process; then nothing is held.
    read_guard(state_lock& threads, segment& state, bool is_writer)
        : threads_((require_free(threads, lock_kind::read, state), threads)),
          state_(is_writer ? nullptr : &state), held_(threads, lock_kind::read) {
        if (state_) slot_ = take_turn();
        threads_.lock_shared();
    }
    ~read_guard() {
        threads_.unlock_shared();
        if (state_) end_turn();
    }
    read_guard(const read_guard&) = delete;
    read_guard& operator=(const read_guard&) = delete;

    /// Throws usage_error in a forked process, and when the thread already holds it.
    static void require_free(const state_lock& threads, lock_kind wanted, const segment& state) {
        if (!threads.is_here()) [[unlikely]] // a thread of the parent may hold it
            throw_elsewhere(state);
        threads.require_not_held(wanted, state);
    }

private:
    [[noreturn]] static void throw_elsewhere(const segment& state);
    [[nodiscard]] std::uint32_t take_turn();
    void end_turn() noexcept;

    state_lock& threads_;
    segment* state_; ///< null in the writer's process, which needs no turn to read
    std::uint32_t slot_ = 0;
    state_lock::held held_;
};

/// The writer's turn of process_lock, unless it already has it; does nothing in a read-only
/// process.
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

/// The guard of with_write_lock: holds the lock between threads, then the writer's turn.
class write_guard {
public:
    /// Throws usage_error in a forked process; then nothing is held.
    write_guard(state_lock& threads, segment& state) : threads_(threads, state), turn_(state) {}

private:
    struct threads_lock {
        threads_lock(state_lock& of, const segment& state)
            : lock((read_guard::require_free(of, lock_kind::write, state), of)),
              held(of, lock_kind::write) {
            lock.lock();
        }
        threads_lock(const threads_lock&) = delete;
        threads_lock& operator=(const threads_lock&) = delete;
        ~threads_lock() { lock.unlock(); }
        state_lock& lock;
        state_lock::held held;
    } threads_;
    write_turn turn_;
};

} // namespace chainbase
