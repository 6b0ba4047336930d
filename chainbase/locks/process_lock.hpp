#pragma once

#include <chainbase/locks/reader_file.hpp>
#include <chainbase/locks/snapshot_slots.hpp>
#include <pool_allocator/base/file_descriptor.hpp>
#include <pool_allocator/base/process_of_origin.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace chainbase {

class format_error;

/// The error of whoever looks for a state where there is none.
[[nodiscard]] format_error no_state_at(const std::filesystem::path& state);

/// The lock between the processes that read a state and the one that writes it: any number of
/// readers, or the writer. state_lock is the one between threads of the writer's process.
///
/// Phase-fair like state_lock: a reader waits for one phase of the writer at most, the writer for
/// the readers that arrived before it. Locks end with their process: a dead reader blocks nobody,
/// and after a writer died within its phase nobody reads until another writer has rolled the state
/// back.
///
/// A forked process holds none of its parent's locks: there the destructor and unlocking do
/// nothing, and locking throws usage_error.
///
/// Thread-safety: lock_shared and unlock_shared may be called by any thread. A writer's object is
/// used by one thread at a time. Not recursive.
///
/// Invariants (lock_protocol.hpp says why they hold; its test tries every interleaving):
///  1. Nobody reads while the writer is inside, nor after it died inside.
///  2. No wake-up is lost: a sleeper checks again when the awaited word changes, and at the latest
///     after a tenth of a second, since a process may die before it wakes another one.
///  3. A slot that is not idle belongs to a live process, or the next writer reclaims it.
class process_lock {
public:
    enum class role { reader, writer };
    using slot_number = std::uint32_t;

    /// For the state in the folder `state`. A writer must hold the state's lock. `patience` is how
    /// long a reader waits for a writer to take over from a dead one. Throws as reader_file does.
    process_lock(const std::filesystem::path& state, role which,
                 std::chrono::milliseconds patience);
    /// A writer that never called unlock() restores what it found; one that is destroyed, or dies,
    /// within a later phase leaves the lock as it is: readers wait for the next writer.
    ~process_lock();
    process_lock(const process_lock&) = delete;
    process_lock& operator=(const process_lock&) = delete;

    /// @name The writer
    /// @{
    /// Waits until no other process reads. Logs every few seconds which process it waits for.
    void lock();
    void unlock() noexcept;
    /// Whether it is between lock() and unlock().
    [[nodiscard]] bool is_locked() const noexcept { return is_locked_; }
    /// Notify readers that the segment they may have mapped was replaced; that files changed their
    /// length; that a type was added. Require is_locked().
    void replaced_segment() noexcept;
    void changed_lengths() noexcept;
    void added_type() noexcept;
    /// Those who read snapshots of the state. Lives as long as this object.
    [[nodiscard]] snapshot_readers& snapshots() noexcept { return snapshots_; }
    /// @}

    /// @name Readers
    /// @{
    /// Waits until the writer is not inside. Returns the slot to unlock. Throws unclean_error when
    /// the writer died inside and no other one came in time, limit_error when
    /// reader_file::max_slots threads are reading, out_of_space_error when the file cannot grow.
    [[nodiscard]] slot_number lock_shared();
    void unlock_shared(slot_number slot) noexcept;
    /// Counters that the writer's notifications above increment. Read them under the lock.
    [[nodiscard]] std::uint64_t segments() const noexcept;
    [[nodiscard]] std::uint64_t lengths() const noexcept;
    [[nodiscard]] std::uint64_t types() const noexcept;
    /// @}

private:
    struct reader_turn;
    struct writer_turn;
    /// How this process holds a slot.
    enum class hold : std::uint8_t { none, free, busy };

    void restore_header() noexcept;
    [[nodiscard]] slot_number take_slot();
    [[nodiscard]] slot_number claim_slot();
    [[nodiscard]] bool take_if_free(slot_number slot) noexcept;
    [[nodiscard]] bool has_writer() const noexcept;
    [[noreturn]] void throw_abandoned() const;

    process_of_origin origin_;
    reader_file file_;
    snapshot_slots snapshots_{file_};
    role role_;
    std::chrono::milliseconds patience_;
    std::filesystem::path writers_lock_;
    file_descriptor writers_; ///< the writers' lock file, to check whether a writer is alive
    // A writer's:
    bool is_locked_ = false;
    bool has_unlocked_ = false;
    reader_header found_{}; ///< when the state was opened
    // A reader's:
    std::unique_ptr<std::atomic<hold>[]> holds_; ///< by slot
    std::mutex claiming_;
};

/// The holders and waiters of the lock between processes, at about one moment. Takes no lock and
/// waits for nothing, so it works when everything else hangs.
struct lock_report {
    enum class doing {
        idle,    ///< neither of the others
        waiting, ///< a writer for readers to leave; a reader for the writer
        inside,  ///< writing, reading
    };
    struct of_writer {
        std::uint32_t process = 0; ///< that opened the state for writing last; 0: none yet
        bool is_alive = false;     ///< a process has it open for writing
        doing what = doing::idle;  ///< of a dead writer: where it died
        double seconds = 0;        ///< since it began that, unless idle
    };
    struct of_reader {
        std::uint32_t slot = 0;
        std::uint32_t process = 0; ///< its process id in its own namespace
        std::uint32_t thread = 0;  ///< that had the slot last
        std::string name;          ///< of the process
        bool is_alive = false;
        doing what = doing::idle;
        double seconds = 0;        ///< since it asked for the lock
        bool has_snapshot = false; ///< for which the writer keeps its log; it needs no lock
    };

    of_writer writer;
    std::vector<of_reader> readers; ///< by slot; free slots are left out

    /// Reads the report of the state in a folder. Throws format_error when no state is there,
    /// io_error, damaged_error.
    [[nodiscard]] static lock_report read(const std::filesystem::path& state);
};

} // namespace chainbase
