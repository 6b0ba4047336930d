#pragma once

#include <archive/fwd.hpp>
#include <archive/rocksdb_store.hpp>
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

/// What the archive beside a segment holds.
struct archive_report {
    struct table {
        std::string name;
        std::vector<std::string> keys;
        std::uint64_t rows = 0;
    };

    std::filesystem::path folder;
    std::string store;   ///< its kind; tables are told of rocksdb only
    std::string refusal; ///< why it cannot be read now, empty if it could
    std::vector<table> tables;

    [[nodiscard]] std::uint64_t rows() const noexcept;
};

/// Opens `state`/archive for reading, also beside its writer. Throws what open_store throws.
[[nodiscard]] std::unique_ptr<archive::store> open_archive(const std::filesystem::path& state);

/// Looks at `state`/archive, also beside its writer, and changes nothing; nothing if there is none.
/// An archive that cannot be read is told in `refusal`: what is known of the segment still counts.
[[nodiscard]] std::optional<archive_report> read_archive(const std::filesystem::path& state);

/// A state's archive, and how far the state relies on it.
///
/// The state is read before the archive, whose rows only grow: so beside a writer, too, what the
/// state handed over has to be there.
struct archive_contents {
    /// The objects of one type, in both places.
    struct table {
        std::string name;
        std::vector<std::string> keys;
        std::optional<std::uint64_t> rows; ///< nothing: could not be counted
        std::uint64_t ahead = 0;           ///< rows of ids that the state has not given out yet
        std::optional<std::uint64_t> record_bytes; ///< if all rows were read
        // Nothing where the state has no such type, or could not be read.
        std::optional<std::uint64_t> in_memory;
        std::optional<std::uint64_t> retired; ///< of these: finished, and not yet out of memory
        std::optional<std::uint64_t> handed_over;

        /// Rows of objects that are in memory as well: written and not yet out of memory, or back
        /// in it because a block was popped.
        [[nodiscard]] std::uint64_t in_both() const noexcept;
    };

    std::filesystem::path state;
    std::filesystem::path folder;
    inspect::condition condition = condition::closed; ///< of the state
    std::string writer;
    bool is_state_consistent = false;
    std::string state_refusal;         ///< why the state cannot be read; empty if it could
    bool is_there = false;             ///< the archive
    std::string store;                 ///< its kind; empty if that cannot be told
    std::string refusal;               ///< why the archive cannot be read now; empty if it could
    std::vector<std::string> findings; ///< what is missing or damaged, in words
    std::vector<table> tables;
    std::optional<archive::rocksdb_facts> rocksdb;
    std::uint64_t files = 0;
    std::uint64_t file_bytes = 0; ///< their lengths
    std::uint64_t disk_bytes = 0; ///< that the file system holds of them
    /// In the segment, of the store `memory`, without the texts of rows and keys.
    std::optional<std::uint64_t> segment_bytes;
    std::optional<archive::published_statistics> statistics;

    [[nodiscard]] std::uint64_t rows() const noexcept;
    /// Whether the process that counted `statistics` still does.
    [[nodiscard]] bool is_counting() const noexcept;
};

/// Looks at `state`/archive, also beside a writer, and changes nothing. With `every_row` all rows
/// are read for the bytes of their records. Throws format_error when there is no archive and the
/// state does without, and what reading the state throws when there is neither.
[[nodiscard]] archive_contents read_archive_contents(const std::filesystem::path& state,
                                                     bool every_row = false);

/// The report as tables for people, and as one JSON object; README.md lists its members.
[[nodiscard]] std::string as_text(const archive_contents& found);
[[nodiscard]] std::string as_json(const archive_contents& found);

} // namespace chainbase::inspect
