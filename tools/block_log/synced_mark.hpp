#pragma once

#include <tools/block_log/file.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace chainbase {

class block_log_index;

/// How far a block log was synced, kept in a file beside it. Distinguishes an unsynced record that
/// a power failure took from a damaged one.
///
/// Invariants: (1) the log's bytes up to `log_bytes` were on the device before the mark said so,
/// and are never changed or removed; (2) after a power failure the mark may be older than the log,
/// never newer, so everything below it was certainly synced; (3) it fits in a sector, so it cannot
/// tear; (4) a closed mark means that nothing was appended since.
struct synced_mark {
    std::uint64_t header_checksum = 0; ///< of the log it belongs to
    std::uint64_t log_bytes = 0;       ///< bytes on the device, whole records
    std::uint64_t last_checksum = 0;   ///< of the record that ends there; 0 without one
    std::uint64_t inode = 0;           ///< of the log's file: a copy has another one
    bool is_open = false;              ///< a writer may have appended behind it

    /// The mark of a log that is on the device as far as `index` covers.
    [[nodiscard]] static synced_mark of(const file& log, const block_log_index& index);

    friend bool operator==(const synced_mark&, const synced_mark&) = default;
};

/// How a mark fits the log beside it.
enum class mark_fit {
    fits,    ///< the last record it covers is there
    broken,  ///< no valid record ends where it should
    foreign, ///< another record ends there: a mark of other bytes
    beyond,  ///< the log is shorter
};
[[nodiscard]] mark_fit fit_of(const synced_mark& mark, const file& log);

/// Whether the mark belongs to this log, as far as known, and covers `offset`: those bytes were
/// synced.
[[nodiscard]] bool proves_synced(const std::optional<synced_mark>& mark, const file& log,
                                 std::uint64_t offset);

/// Whether a fitting mark permits unsynced bytes behind it: a writer had this very file open, not a
/// copy of it.
[[nodiscard]] bool permits_unsynced_tail(const synced_mark& mark, const file& log);

/// Either a mark or the reason why there is none.
struct mark_check {
    std::optional<synced_mark> mark;
    std::string reason;
};

/// Reads the mark of the log whose header has this checksum. A missing, foreign, short or altered
/// file is returned as a reason. `on`: null is the operating system's disk.
[[nodiscard]] mark_check load_mark(const std::filesystem::path& path, std::uint64_t header_checksum,
                                   disk* on = nullptr);

/// The path of a log's mark: the log's name with ".synced" added.
[[nodiscard]] std::filesystem::path synced_path(const std::filesystem::path& log);

/// The mark file of a log's writer. All calls throw io_error, and `place` out_of_space_error; not
/// thread-safe.
class synced_mark_file {
public:
    /// None; only assignment and destruction are allowed.
    synced_mark_file() = default;

    /// Makes or takes over the file beside `log`; returns when mark and names are on the device. An
    /// older mark may describe the log before its end was cut, or another log.
    [[nodiscard]] static synced_mark_file place(const file& log, const synced_mark& mark);

    /// Replaces the mark without a sync: an older one only covers less.
    void set(const synced_mark& mark);
    /// Returns when the last mark set is on the device.
    void sync() { file_.sync(); }
    void close() noexcept { file_.close(); }

private:
    file file_;
};

} // namespace chainbase
