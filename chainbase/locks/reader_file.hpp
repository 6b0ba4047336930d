#pragma once

#include <pool_allocator/base/file_descriptor.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

/// Sleeping on a word of a file that several processes have mapped; std::atomic::wait works only
/// within one process.
namespace chainbase::detail {

/// Sleeps until woken, until `most` has passed or a signal arrives; returns at once if the word is
/// not `seen`.
void sleep_on(const std::uint32_t& word, std::uint32_t seen,
              std::chrono::nanoseconds most) noexcept;

/// Wakes all sleepers on the word.
void wake_on(const std::uint32_t& word) noexcept;

} // namespace chainbase::detail

namespace chainbase {

/// The first page of a state's `readers`.
///
///     0  magic         16  "chainbase turns" and a zero byte
///    16  format         4
///    20  phase          4  1: a writer is inside, or waits for readers to leave; 0: nobody writes
///    24  slots          4  slots at or above are free and unused
///    28  writer         4  process that opened the state for writing last, 0 before the first one
///    32  inside         4  1: the writer is inside
///    36  snapshots      4  not 0: a slot may have a snapshot
///    40  since          8  when the phase began, on the clock below
///    48  segment        8  counts replacements of the segment
///    56  lengths        8  counts changes of the lengths of segment files
///    64  types          8  counts added types
///    72  boot          40  kernel's boot id when it was last used, zero-padded
struct reader_header {
    char magic[16];
    std::uint32_t format;
    std::uint32_t phase;
    std::uint32_t slots;
    std::uint32_t writer;
    std::uint32_t inside;
    std::uint32_t snapshots;
    std::uint64_t since;
    std::uint64_t segment;
    std::uint64_t lengths;
    std::uint64_t types;
    char boot[40];

    static constexpr std::uint32_t current_format = 1;
};
static_assert(sizeof(reader_header) == 112 && offsetof(reader_header, since) == 40 &&
              offsetof(reader_header, boot) == 72);

/// The slot of one reading thread at a time, or of a snapshot; fills a cache line.
///
///     0  word       4  detail::turn
///     4  process    4  0: nobody's
///     8  thread     4  that holds, or last held, the slot
///    12  reserved   4
///    16  since      8  when it was asked for, on the clock below
///    24  name      24  of the process, zero-padded
///    48  snapshot       8  log_time from which on a snapshot needs the log; 0: none
///    56  epoch          8  from which on it needs outgrown memory
struct alignas(64) reader_slot {
    std::uint32_t word;
    std::uint32_t process;
    std::uint32_t thread;
    std::uint32_t reserved;
    std::uint64_t since;
    char name[24];
    std::uint64_t snapshot;
    std::uint64_t epoch;
};
static_assert(sizeof(reader_slot) == 64 && offsetof(reader_slot, name) == 24);

/// The mapped file of process_lock, the lock between the processes that read a state and the one
/// that writes it. It lies beside the segment, which a restore replaces.
///
/// A slot belongs to the holder of an open file description lock on its bytes in the file, which
/// the kernel releases when the holder dies, and which any process can query, even across
/// process-id namespaces. The file is as long as the greatest number of slots ever in use required.
///
/// Thread-safety: every call may be made by any thread; claiming and giving up the same slot by one
/// thread at a time.
class reader_file {
public:
    /// The most threads that can be reading a state, in all processes.
    static constexpr std::uint32_t max_slots = 16'384;
    static constexpr std::size_t header_bytes = 4096;

    enum class mode {
        take_part, ///< creates the file if missing, and empties one from before the last restart
        look,      ///< changes nothing
    };

    /// Throws io_error, out_of_space_error; damaged_error and format_error when it is not such a
    /// file.
    reader_file(const std::filesystem::path& file, mode how);
    /// Whether a kill left `file` unfinished, or it is cut off; the next participant finishes it.
    /// Throws access_error, io_error, and damaged_error, format_error when it is cut off and not
    /// the readers file of a state.
    [[nodiscard]] static bool is_unfinished(const std::filesystem::path& file);
    ~reader_file();
    reader_file(const reader_file&) = delete;
    reader_file& operator=(const reader_file&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] reader_header& header() const noexcept {
        return *reinterpret_cast<reader_header*>(base_);
    }
    /// Requires n < slots(), or that slot n was claimed.
    [[nodiscard]] reader_slot& slot(std::uint32_t n) const noexcept {
        return reinterpret_cast<reader_slot*>(base_ + header_bytes)[n];
    }
    /// How many slots to examine: all claimed slots are below.
    [[nodiscard]] std::uint32_t slots() const noexcept;

    /// Claims slot n if it is free or already claimed by this object; extends the file for it. A
    /// dead process's slot becomes idle, and its waiters are woken. Throws io_error,
    /// out_of_space_error.
    [[nodiscard]] bool claim(std::uint32_t n);
    /// Enters this process in a claimed slot.
    void introduce(std::uint32_t n) noexcept;
    /// Frees a claimed slot.
    void give_up(std::uint32_t n) noexcept;
    /// Whether another, live holder has it.
    [[nodiscard]] bool is_held(std::uint32_t n) const noexcept;
    /// Frees the slot if its holder is dead. Returns whether it did.
    bool reclaim_if_dead(std::uint32_t n) noexcept;
    /// Lowers slots() below the free slots at the end.
    void drop_free_end() noexcept;

    /// The clock of `since`, in nanoseconds: the same for all processes, with a resolution of
    /// milliseconds.
    [[nodiscard]] static std::uint64_t now() noexcept;
    /// The seconds since `since`.
    [[nodiscard]] static double age(std::uint64_t& since) noexcept;
    /// The name, made printable: another process wrote it, so it may contain any bytes.
    [[nodiscard]] static std::string name_in(const reader_slot& slot);

private:
    void prepare();
    void map(mode how);
    [[nodiscard]] bool lock_bytes(std::uint32_t n) const noexcept;
    void clear(std::uint32_t n) const noexcept;
    void grow_for(std::uint32_t n) const;
    [[nodiscard]] std::uint32_t slots_in_file() const noexcept;

    std::filesystem::path path_;
    file_descriptor descriptor_;
    std::byte* base_ = nullptr;
    mutable std::atomic<std::uint32_t> slots_known_{0}; ///< that the file has
};

} // namespace chainbase
