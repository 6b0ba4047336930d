#pragma once

#include <pool_allocator/file_descriptor.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

/// Sleeping on a word of a file that several processes have mapped; std::atomic::wait only knows
/// threads of one.
namespace chainbase::detail {

/// Sleeps until somebody wakes, `most` is over or a signal comes; not at all if the word is not
/// `seen`.
void sleep_on(const std::uint32_t& word, std::uint32_t seen,
              std::chrono::nanoseconds most) noexcept;

/// Wakes all who sleep on the word.
void wake_on(const std::uint32_t& word) noexcept;

} // namespace chainbase::detail

namespace chainbase {

/// The first page of a state's `readers`.
///
///     0  magic         16  "chainbase turns" and a zero byte
///    16  format         4
///    20  phase          4  1: a writer is in, or waits for readers to leave; 0: nobody writes
///    24  slots          4  those from here on were not used since they were last free
///    28  writer         4  process that opened the state for writing last, 0 before the first one
///    32  inside         4  1: the writer is in
///    36  reserved       4  zero
///    40  since          8  when the phase began, on the clock below
///    48  segment        8  counts the segments that took each other's place
///    56  lengths        8  counts the times that files of the segment changed their length
///    64  types          8  counts the times that types came
///    72  boot          40  kernel's boot id when it was last used, zero-padded
struct reader_header {
    char magic[16];
    std::uint32_t format;
    std::uint32_t phase;
    std::uint32_t slots;
    std::uint32_t writer;
    std::uint32_t inside;
    std::uint32_t reserved;
    std::uint64_t since;
    std::uint64_t segment;
    std::uint64_t lengths;
    std::uint64_t types;
    char boot[40];

    static constexpr std::uint32_t current_format = 1;
};
static_assert(sizeof(reader_header) == 112 && offsetof(reader_header, since) == 40 &&
              offsetof(reader_header, boot) == 72);

/// One thread that reads, at a time; a cache line of its own.
///
///     0  word       4  detail::turn
///     4  process    4  0: nobody's
///     8  thread     4  whose acquisition this is, or was
///    12  reserved   4
///    16  since      8  when it was asked for, on the clock below
///    24  name      24  of the process, zero-padded
///    48  reserved  16
struct alignas(64) reader_slot {
    std::uint32_t word;
    std::uint32_t process;
    std::uint32_t thread;
    std::uint32_t reserved;
    std::uint64_t since;
    char name[24];
    char reserved2[16];
};
static_assert(sizeof(reader_slot) == 64 && offsetof(reader_slot, name) == 24);

/// The file through which processes that read a state and the one that writes it take turns
/// (process_lock), mapped. It lies beside the segment, which a restore replaces.
///
/// A slot belongs to who has the lock on its bytes of the file: an open file description lock,
/// which the kernel takes away when its holder dies, and which can be asked about from any process,
/// whatever numbers the processes have. The file is as long as the most slots ever in use needed.
///
/// Thread-safety: everything may be called by any thread; claiming, and giving up, of one slot by
/// one at a time.
class reader_file {
public:
    /// The most threads that can be reading a state, in all processes.
    static constexpr std::uint32_t max_slots = 16'384;
    static constexpr std::size_t header_bytes = 4096;

    enum class mode {
        take_part, ///< makes it if it is not there, and empties one of before the last restart
        look,      ///< changes nothing
    };

    /// Throws io_error, out_of_space_error; damaged_error and format_error for another file.
    reader_file(const std::filesystem::path& file, mode how);
    /// Whether a kill left `file` in the making; whoever takes part next finishes it. Throws
    /// access_error, io_error.
    [[nodiscard]] static bool is_unfinished(const std::filesystem::path& file);
    ~reader_file();
    reader_file(const reader_file&) = delete;
    reader_file& operator=(const reader_file&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    [[nodiscard]] reader_header& header() const noexcept {
        return *reinterpret_cast<reader_header*>(base_);
    }
    /// Requires n < slots(), or that it was claimed.
    [[nodiscard]] reader_slot& slot(std::uint32_t n) const noexcept {
        return reinterpret_cast<reader_slot*>(base_ + header_bytes)[n];
    }
    /// How many slots to look at: all that anybody has claimed are below.
    [[nodiscard]] std::uint32_t slots() const noexcept;

    /// Takes the slot if nobody has it, or if it has it already; makes room for it in the file.
    /// What a process that died left in it becomes idle, and who waited for that is woken. Throws
    /// io_error, out_of_space_error.
    [[nodiscard]] bool claim(std::uint32_t n);
    /// Makes a slot that was claimed nobody's.
    void give_up(std::uint32_t n) noexcept;
    /// Whether another one, who is alive, has it.
    [[nodiscard]] bool is_held(std::uint32_t n) const noexcept;
    /// Makes the slot idle and nobody's if its holder is dead. Returns whether it did.
    bool bury(std::uint32_t n) noexcept;
    /// Takes slots at the end that nobody has out of slots().
    void drop_free_end() noexcept;

    /// The clock of `since`, in nanoseconds: one for all processes, ticking in milliseconds.
    [[nodiscard]] static std::uint64_t now() noexcept;
    /// The seconds since then.
    [[nodiscard]] static double age(std::uint64_t& since) noexcept;
    /// As it may be shown: another process wrote it, so it may be anything.
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
