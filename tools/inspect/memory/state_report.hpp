#pragma once

#include <chainbase/fwd.hpp>
#include <pool_allocator/base/page_cache.hpp>
#include <pool_allocator/pool.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Some files of a segment: the segment's figures, and the file system's.
struct measured {
    usage bytes;                  ///< `punched`: not allocated by the file system
    std::uint64_t file_bytes = 0; ///< sum of file lengths
    cached_bytes cached;          ///< asked for after the other figures

    /// Allocated by the file system.
    [[nodiscard]] std::uint64_t held() const noexcept { return file_bytes - bytes.punched; }
    measured& operator+=(const measured& other) noexcept;
};

/// Buffers of one size, or the page runs.
struct buffer_report {
    std::string name;             ///< of the file
    std::uint64_t slot_bytes = 0; ///< a page for the runs
    measured memory;
};

/// One type.
struct type_report {
    std::string name;
    std::uint64_t objects = 0;
    std::uint64_t next_id = 0;
    std::uint64_t value_bytes = 0; ///< of one object
    std::uint64_t link_bytes = 0;  ///< of one object, in its node
    std::uint64_t node_bytes = 0;  ///< one slot
    std::vector<std::string> keys; ///< "by_name (ordered_unique)"
    measured nodes;
    measured ids;
    measured tables; ///< the hashed keys

    [[nodiscard]] measured total() const noexcept;
};

/// Whether a state is closed, in use, or left behind.
enum class condition { closed, writer_running, writer_died };

/// "closed", "writer_running" or "writer_died".
[[nodiscard]] std::string to_string(condition what);

/// As text, with the pid of the current or last writer, if known.
[[nodiscard]] std::string condition_in_words(condition what, const std::string& writer);

/// The figures of a segment, read at one moment.
///
/// Invariant: header + log + buffers + types = total(), in each part of `usage`; when
/// `discrepancies` is empty, also every part's own sum and every file's length.
struct state_report {
    std::filesystem::path state;
    std::filesystem::path segment; ///< the folder of its files
    inspect::condition condition = condition::closed;
    std::string writer;                     ///< the current or last writer, as it registered itself
    bool consistent = false;                ///< read between two operations, and all sums hold
    std::vector<std::string> discrepancies; ///< sums that do not hold, as text

    std::uint32_t format = 0;
    std::uint32_t windows = 0;
    std::uint64_t window_bytes = 0;
    std::string boot; ///< the kernel's boot id at the last opening for writing; empty if none

    std::int64_t revision = 0;
    std::int64_t irreversible_revision = 0;
    std::uint64_t sessions = 0;
    std::uint64_t changes = 0; ///< operations, and sessions begun and ended, in total

    measured header;
    measured log; ///< `values` are the bytes between the oldest session and the tail
    std::vector<buffer_report> buffers;
    std::vector<type_report> types;
    std::uint64_t other_files = 0; ///< bytes of unmapped files in the folder

    [[nodiscard]] measured buffers_total() const noexcept;
    [[nodiscard]] measured types_total() const noexcept;
    [[nodiscard]] measured total() const noexcept;
};

/// Reads the state in the folder `state`: takes no lock, changes nothing, needs no header of the
/// program that wrote it. Beside a writer it reads again, for about `lasting`, until a sample falls
/// between two operations; `consistent` says whether one did.
///
/// Throws what opening a segment read-only throws; a state whose writer died is no error.
[[nodiscard]] state_report read_state(const std::filesystem::path& state,
                                      std::chrono::milliseconds lasting = std::chrono::seconds(1));
/// For a state that is read repeatedly: what is in memory may be older, as in `cached`.
[[nodiscard]] state_report read_state(const std::filesystem::path& state,
                                      std::chrono::milliseconds lasting, cached_files& cached);

/// The current condition of the state with the segment `from`.
[[nodiscard]] condition condition_of(const segment& from);

/// The sum of the file lengths in a folder; a file removed meanwhile counts 0. Throws
/// std::filesystem::filesystem_error.
[[nodiscard]] std::uint64_t bytes_in(const std::filesystem::path& folder);

} // namespace chainbase::inspect
