#pragma once

#include <undo/fwd.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace chainbase {

/// A place in the log that only grows: the sequence number of its chunk times the bytes of a chunk,
/// plus the offset within the chunk. Positions come again when chunks do; times come again only
/// when the tail moves back.
using log_time = std::uint64_t;

/// Where a snapshot can begin: the end of the newest block.
struct block_end {
    revision_number revision;
    log_position position; ///< 0: there is none, the state is being opened or rolled back
    log_time time;
    std::uint64_t epoch; ///< of the changes that follow, in the process that writes
};

/// What a log tells readers of snapshots, in the root block of its window, behind log_words. Only
/// the writer stores here. chainbase/snapshot/README.md says why a reader is never wrong.
///
///      0  turn        8   odd while a rollback copies back, +1 at its begin and end
///      8  losses      8   odd while the tail moves back over changes that stay, +1 at the begin
///                         and the end of that: every snapshot from before is over
///     16  floor       8   log_time: what is below may have been overwritten
///     24  given_back  8   memory that was outgrown in this epoch or before may be gone
///     32  edition     8   odd while the next 32 bytes change
///     40  end        32   block_end
///     72  count       8   how many elements of the next array there are
///     80  rollbacks  16 * 60   {turn, log_time it went down to}, both ascending
///
/// Of `rollbacks` a reader needs the lowest time since a turn, so one that a later rollback went
/// below is left out. When there is no room, two between which no snapshot began are merged; if
/// there are none, the two oldest, which can only end a snapshot too early.
struct snapshot_words {
    struct rollback {
        std::uint64_t turn; ///< while it ran
        log_time to;
    };
    static constexpr std::size_t most_rollbacks = 60;

    std::uint64_t turn;
    std::uint64_t losses;
    log_time floor;
    std::uint64_t given_back;
    std::uint64_t edition;
    block_end end;
    std::uint64_t count;
    std::array<rollback, most_rollbacks> rollbacks;
};
static_assert(sizeof(snapshot_words) == 80 + 16 * snapshot_words::most_rollbacks &&
              offsetof(snapshot_words, end) == 40 && offsetof(snapshot_words, count) == 72);
static_assert(std::is_trivially_copyable_v<snapshot_words>);

/// Who reads snapshots of a log, as the writer sees them.
class snapshot_readers {
public:
    struct need {
        log_time time;       ///< records from here on
        std::uint64_t epoch; ///< memory that was outgrown in it or later
    };
    /// Whether anyone may read a snapshot. One load.
    [[nodiscard]] bool any() const noexcept {
        return std::atomic_ref(*announced_).load(std::memory_order_relaxed) != 0;
    }
    /// What the readers need together that are not too old, which those from before `floor` are;
    /// forgets those that died. {UINT64_MAX, UINT64_MAX} without any.
    [[nodiscard]] virtual need oldest(log_time floor) noexcept = 0;
    /// Whether one of them may need records from a time in (after, to] on.
    [[nodiscard]] virtual bool any_within(log_time after, log_time to) noexcept = 0;

protected:
    explicit snapshot_readers(std::uint32_t& announced) noexcept : announced_(&announced) {}
    ~snapshot_readers() = default;
    [[nodiscard]] std::uint32_t& announced() const noexcept { return *announced_; }

private:
    std::uint32_t* announced_; ///< a word that readers increment
};

/// The writer's side of snapshot_words.
///
/// Every store is ordered before what follows it in the program, and after what comes before: by
/// release fences, which cost nothing on x86.
class snapshot_board {
public:
    explicit snapshot_board(snapshot_words& words) noexcept : words_(words) {}

    /// Tells where a snapshot can begin from now on.
    void publish(const block_end& end) noexcept {
        store(words_.edition, words_.edition + 1);
        after_all_before();
        store(words_.end.revision, end.revision);
        store(words_.end.position, end.position);
        store(words_.end.time, end.time);
        store(words_.end.epoch, end.epoch);
        after_all_before();
        store(words_.edition, words_.edition + 1);
    }
    /// Ends all snapshots: what the log has of the past is going to be lost. Until end_loss() none
    /// begins.
    void begin_loss() noexcept {
        store(words_.losses, words_.losses + 1);
        after_all_before();
    }
    void end_loss() noexcept {
        after_all_before();
        store(words_.losses, words_.losses + 1);
    }
    /// What is below `time` is going to be overwritten.
    void raise_floor(log_time time) noexcept {
        store(words_.floor, time);
        after_all_before();
    }
    /// Memory that was outgrown in `epoch` or before is going to be given back.
    void give_back(std::uint64_t epoch) noexcept {
        if (epoch > words_.given_back) store(words_.given_back, epoch);
        after_all_before();
    }
    /// `readers` may be null.
    void begin_rollback(log_time to, snapshot_readers* readers) noexcept;
    void end_rollback() noexcept {
        after_all_before();
        store(words_.turn, words_.turn + 1);
    }
    /// For a writer that takes over: as begin_loss(), and ends a rollback that never ended.
    void take_over() noexcept;

    [[nodiscard]] const block_end& published() const noexcept { return words_.end; }
    [[nodiscard]] log_time floor() const noexcept { return words_.floor; }

private:
    static void after_all_before() noexcept { std::atomic_thread_fence(std::memory_order_release); }
    template <typename Word>
    static void store(Word& word, Word value) noexcept {
        std::atomic_ref(word).store(value, std::memory_order_relaxed);
    }

    snapshot_words& words_;
};

} // namespace chainbase
