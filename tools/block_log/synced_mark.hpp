#pragma once

#include <tools/block_log/file.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace chainbase {

class block_log_index;

/// How far a block log was synced, kept in a file beside it: tells a record that a loss of power
/// took, since it was never synced, from one that was damaged.
///
/// Invariants: (1) the log's bytes up to `log_bytes` were on the device before the mark said so,
/// and are never changed or removed; (2) a mark that a loss of power left may be older than the
/// truth, never newer, so that what lies below it was synced for certain; (3) it is within a
/// sector, so it cannot tear; (4) nobody has appended since it was closed.
struct synced_mark {
    std::uint64_t header_checksum = 0; ///< of the log that it belongs to
    std::uint64_t log_bytes = 0;       ///< that are on the device, whole records
    std::uint64_t last_checksum = 0;   ///< of the record that ends there; 0 without one
    std::uint64_t inode = 0;           ///< of the log's file: a copy has another one
    bool is_open = false;              ///< a writer may have appended behind it

    /// The mark of a log that is on the device as far as `index` tells.
    [[nodiscard]] static synced_mark of(const file& log, const block_log_index& index);

    friend bool operator==(const synced_mark&, const synced_mark&) = default;
};

/// What a mark is to the log it lies beside.
enum class mark_fit {
    fits,    ///< the record that it saw last is there
    broken,  ///< where that record should end is no valid one
    foreign, ///< it is of other bytes: another record ends there
    beyond,  ///< the log is shorter
};
[[nodiscard]] mark_fit fit_of(const synced_mark& mark, const file& log);

/// Whether the mark is of this log, as far as can be told, and what is at `offset` was synced.
[[nodiscard]] bool tells_of_sync(const std::optional<synced_mark>& mark, const file& log,
                                 std::uint64_t offset);

/// Whether a mark that fits lets what is behind it be something that nobody synced: a writer had
/// this very file open, and not a copy of it.
[[nodiscard]] bool vouches_for_nothing_behind(const synced_mark& mark, const file& log);

/// Either a mark or the reason why there is none.
struct mark_check {
    std::optional<synced_mark> mark;
    std::string reason;
};

/// Reads the mark of the log whose header has this checksum. A missing, foreign, short or altered
/// file is a returned reason. `on`: null is the operating system's disk.
[[nodiscard]] mark_check load_mark(const std::filesystem::path& path, std::uint64_t header_checksum,
                                   disk* on = nullptr);

/// Where the mark of a log is kept: beside it, with ".synced" added to its name.
[[nodiscard]] std::filesystem::path synced_path(const std::filesystem::path& log);

/// The file of a mark, in the hands of the log's writer. All calls throw io_error, and `place`
/// out_of_space_error; not thread-safe.
class synced_mark_file {
public:
    /// None; only assignment and destruction are allowed.
    synced_mark_file() = default;

    /// Makes the file beside `log`, or takes the one that is there, and returns when mark and names
    /// are on the device: an older mark tells of a log before its end was cut, or of another one.
    [[nodiscard]] static synced_mark_file place(const file& log, const synced_mark& mark);

    /// Replaces the mark. It is not synced: an older one only vouches for less.
    void set(const synced_mark& mark);
    /// Returns when the last mark set is on the device.
    void sync() { file_.sync(); }
    void close() noexcept { file_.close(); }

private:
    file file_;
};

} // namespace chainbase
