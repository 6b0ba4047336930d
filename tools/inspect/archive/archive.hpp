#pragma once

#include <archive/fwd.hpp>
#include <archive/rocksdb/store.hpp>
#include <archive/statistics.hpp>
#include <tools/exit_code.hpp>
#include <tools/inspect/memory/state_report.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// The content of the archive beside a segment.
struct archive_report {
    struct table {
        std::string name;
        std::vector<std::string> keys;
        std::uint64_t rows = 0;
    };

    std::filesystem::path folder;
    std::string store;   ///< its kind; only rocksdb has tables
    std::string refusal; ///< why it cannot be read now; empty if it can
    std::vector<table> tables;

    [[nodiscard]] std::uint64_t rows() const noexcept;
};

/// Opens `state`/archive for reading, also beside its writer. Throws as open_store.
[[nodiscard]] std::unique_ptr<archive::store> open_archive(const std::filesystem::path& state);

/// Reads `state`/archive, also beside its writer, and changes nothing; nothing without an archive.
/// If it is unreadable, `refusal` says why: the segment's figures are still valid.
[[nodiscard]] std::optional<archive_report> read_archive(const std::filesystem::path& state);

/// A state's archive, and the rows that the state relies on.
///
/// The state is read before the archive, whose rows only grow: so even beside a writer, every row
/// that the state handed over must exist.
struct archive_contents {
    /// The objects of one type, in memory and in the archive.
    struct table {
        std::string name;
        std::vector<std::string> keys;
        std::optional<std::uint64_t> rows; ///< nothing: not countable
        std::uint64_t ahead = 0;           ///< rows with ids that the state has not assigned yet
        std::optional<std::uint64_t> record_bytes; ///< if all rows were read
        // Nothing if the state lacks the type, or is unreadable.
        std::optional<std::uint64_t> in_memory;
        std::optional<std::uint64_t> retired; ///< of these: finished, but still in memory
        std::optional<std::uint64_t> handed_over;

        /// Rows of objects that are in memory as well: archived but not yet removed, or restored by
        /// popping a block.
        [[nodiscard]] std::uint64_t in_both() const noexcept;
    };

    std::filesystem::path state;
    std::filesystem::path folder;
    inspect::condition condition = condition::closed; ///< of the state
    std::string writer;
    bool is_state_consistent = false;
    std::string state_refusal;         ///< why the state is unreadable; empty if it is not
    bool is_there = false;             ///< whether there is an archive
    std::string store;                 ///< its kind; empty if unknown
    std::string refusal;               ///< why the archive cannot be read now; empty if it can
    std::vector<std::string> findings; ///< missing or damaged parts, as text
    std::vector<table> tables;
    std::optional<archive::rocksdb_facts> rocksdb;
    std::uint64_t files = 0;
    std::uint64_t file_bytes = 0; ///< sum of file lengths
    std::uint64_t disk_bytes = 0; ///< allocated by the file system
    /// In the segment, for the store `memory`, without the texts of rows and keys.
    std::optional<std::uint64_t> segment_bytes;
    std::optional<archive::published_statistics> statistics;

    [[nodiscard]] std::uint64_t rows() const noexcept;
    /// Whether the process that counted `statistics` is still counting.
    [[nodiscard]] bool is_counting() const noexcept;
};

/// Reads `state`/archive, also beside a writer, and changes nothing. With `every_row` reads all
/// rows to sum the bytes of their records. Throws format_error when there is no archive and the
/// state needs none, and what reading the state throws when there is neither.
[[nodiscard]] archive_contents read_archive_contents(const std::filesystem::path& state,
                                                     bool every_row = false);

/// The report as text tables, and as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_text(const archive_contents& found);
[[nodiscard]] std::string as_json(const archive_contents& found);

} // namespace chainbase::inspect
