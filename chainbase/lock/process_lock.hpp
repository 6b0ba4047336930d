#pragma once

#include <chainbase/lock/reader_file.hpp>
#include <pool_allocator/file_descriptor.hpp>
#include <pool_allocator/process_of_origin.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace chainbase {

/// The lock between the processes that read a state and the one that writes it: any number of
/// readers, or the writer. state_lock is the one between threads of the writer's process.
///
/// Phase-fair like that one: a reader waits for one phase of the writer at most, the writer for the
/// readers that were there before it. What a process holds ends with the process: a reader that
/// dies holds nobody up, and after a writer that died within its phase nobody reads until another
/// writer has rolled the state back.
///
/// A process that was forked holds nothing of it: what its parent holds is the parent's to unlock,
/// so there the destructor and unlocking do nothing, and locking throws usage_error.
///
/// Thread-safety: lock_shared and unlock_shared may be called by any thread. A writer's object is
/// used by one thread at a time. Not recursive.
///
/// Invariants (why they hold is told, and tried in every order, in lock_protocol.hpp):
///  1. While the writer is in, nobody reads, and after it died within, too.
///  2. No wake-up is lost: who sleeps looks again when what it waits for changes, and at the latest
///     after a tenth of a second, since a process may die before it wakes another one.
///  3. A slot that is not idle belongs to a process that lives, or is found out by the next writer.
class process_lock {
public:
    enum class role { reader, writer };
    using slot_number = std::uint32_t;

    /// Of the state in a folder; for a writer, who has the state's lock. `patience` is how long a
    /// reader waits for a writer that takes over from one that died. Throws as reader_file does.
    process_lock(const std::filesystem::path& state, role which,
                 std::chrono::milliseconds patience);
    /// A writer that never came to unlock() leaves what it found; one that dies, or is destroyed,
    /// within a later phase leaves it as it is: readers wait for the next writer.
    ~process_lock();
    process_lock(const process_lock&) = delete;
    process_lock& operator=(const process_lock&) = delete;

    /// @name The writer
    /// @{
    /// Waits until no other process reads. Says in the log, every few seconds, for whom it waits.
    void lock();
    void unlock() noexcept;
    /// Between the two.
    [[nodiscard]] bool is_locked() const noexcept { return is_locked_; }
    /// Tells readers that another segment has taken the place of the one they may have mapped; that
    /// files changed their length; that a type came. Requires is_locked().
    void replaced_segment() noexcept;
    void changed_lengths() noexcept;
    void added_type() noexcept;
    /// @}

    /// @name Readers
    /// @{
    /// Waits until the writer is not in. Returns the slot to unlock. Throws unclean_error when the
    /// writer died within and no other one came in time, limit_error when reader_file::max_slots
    /// threads are reading, out_of_space_error when the file cannot grow.
    [[nodiscard]] slot_number lock_shared();
    void unlock_shared(slot_number slot) noexcept;
    /// Numbers that change when what the writer's calls tell happened; to be looked at under the
    /// lock.
    [[nodiscard]] std::uint64_t segments() const noexcept;
    [[nodiscard]] std::uint64_t lengths() const noexcept;
    [[nodiscard]] std::uint64_t types() const noexcept;
    /// @}

private:
    struct reader_turn;
    struct writer_turn;
    /// What this process has of a slot.
    enum class hold : std::uint8_t { none, free, busy };

    void put_back() noexcept;
    [[nodiscard]] slot_number take_slot();
    [[nodiscard]] slot_number claim_slot();
    [[nodiscard]] bool take_if_free(slot_number slot) noexcept;
    [[nodiscard]] bool has_writer() const noexcept;
    [[noreturn]] void throw_abandoned() const;

    process_of_origin origin_;
    reader_file file_;
    role role_;
    std::chrono::milliseconds patience_;
    std::filesystem::path writers_lock_;
    file_descriptor writers_; ///< the writers' lock file, to ask whether one lives
    // A writer's:
    bool is_locked_ = false;
    bool has_unlocked_ = false;
    reader_header found_{}; ///< when the state was opened
    // A reader's:
    std::unique_ptr<std::atomic<hold>[]> holds_; ///< by slot
    std::mutex claiming_;
};

/// Who holds and awaits the lock between processes, at about one moment. Takes nothing and waits
/// for nothing, so it works where all others hang.
struct lock_report {
    enum class doing {
        idle,    ///< neither of the others
        waiting, ///< a writer for readers to leave; a reader for the writer
        inside,  ///< writing, reading
    };
    struct of_writer {
        std::uint32_t process = 0; ///< who opened the state for writing last; 0: nobody yet
        bool is_alive = false;     ///< somebody has it open for writing
        doing what = doing::idle;  ///< of one who died: where that was
        double seconds = 0;        ///< since it came to that, unless it is idle
    };
    struct of_reader {
        std::uint32_t slot = 0;
        std::uint32_t process = 0; ///< its number where it runs
        std::uint32_t thread = 0;  ///< that had the slot last
        std::string name;          ///< of the process
        bool is_alive = false;
        doing what = doing::idle;
        double seconds = 0; ///< since it asked for what it is waiting for or inside of
    };

    of_writer writer;
    std::vector<of_reader> readers; ///< by slot; those that nobody has are left out

    /// Of the state in a folder. Throws format_error when none is there, io_error, damaged_error.
    [[nodiscard]] static lock_report read(const std::filesystem::path& state);
};

} // namespace chainbase
