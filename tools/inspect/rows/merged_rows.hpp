#pragma once

#include <archive/store.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_reader.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Objects of a type in memory and in the archive as one sequence, in the order of a key, each
/// once: the results of lifecycle::range() and from() (archive/lifecycle.hpp), from the catalogue
/// alone.
///
/// Reads ahead in turns: a few rows first, then ever more, up to about 1 MiB; with an archive a few
/// each time. A row that the state hands over during the read may be missing; has_moved() reports
/// that. One thread at a time.
class merged_rows {
public:
    using row = found_row;

    /// Without `archive`: in memory only. `state` and `archive` must outlive it. Takes turns.
    /// Throws what row_query::cursor() throws; usage_error when the archive has rows of the type,
    /// but does not index them by that key, or when the order is descending.
    ///
    /// `after`: only rows of the query behind the object with this id, at its current place. For a
    /// key it throws usage_error when the object exists in neither place any more.
    merged_rows(row_source& state, const row_query& asked, const archive::store* archive,
                std::optional<std::uint32_t> after = std::nullopt);

    /// The next row, null behind the last; valid until pop(). Throws what reading throws.
    [[nodiscard]] const row* next();
    void pop();

    [[nodiscard]] const row_format& format() const noexcept { return *format_; }
    /// False: there is no archive, or it has no rows of the type.
    [[nodiscard]] bool searches_archive() const noexcept { return archive_ != nullptr; }
    /// Whether rows were handed over since construction. Takes a turn.
    [[nodiscard]] bool has_moved();

private:
    struct placed_row {
        archive::byte_buffer key;
        row found;
    };
    struct record {
        std::uint32_t id;
        archive::byte_buffer key;
        archive::byte_buffer bytes;
    };

    void find_table();
    void find_bounds();
    void go_on_after(std::uint32_t id);
    void go_on_after_id(std::uint32_t id);
    [[nodiscard]] bool find_in_memory(std::uint32_t id);
    [[nodiscard]] bool find_in_archive(std::uint32_t id);
    void begin_anew(const rows::row_cursor& whole);
    void begin_at(const rows::type_rows& of, const std::byte* object,
                  const rows::buffer_source& buffers, std::uint32_t id);
    [[nodiscard]] bool is_ahead_of_all(const rows::type_rows& of, const std::byte* object) const;
    [[nodiscard]] bool is_passed(archive::bytes_view key) const;
    [[nodiscard]] bool is_passed(const rows::type_rows& of, slot_number slot,
                                 std::optional<std::uint32_t>& after) const;
    [[nodiscard]] archive::byte_buffer key_bytes(const std::vector<std::string>& parts);
    [[nodiscard]] archive::byte_buffer key_of(const rows::type_rows& of, slot_number slot) const;
    [[nodiscard]] archive::byte_buffer key_of(const rows::probe& found, std::uint32_t id) const;
    [[nodiscard]] bool is_beyond(archive::bytes_view key) const;
    void read_memory();
    void read_archive();
    [[nodiscard]] std::vector<record> next_by_id();
    [[nodiscard]] std::vector<record> next_by_key();
    void keep_those_that_count(const std::vector<record>& found);
    [[nodiscard]] std::uint64_t handed_over();
    [[nodiscard]] bool is_memory_first() const;

    row_source& state_;
    const row_query asked_;
    const archive::store* archive_;
    std::unique_ptr<rows::row_cursor> cursor_;
    std::optional<row_format> format_;
    archive::table_id table_{};
    std::uint32_t index_ = 0;              ///< of the key in the store
    bool is_unique_ = true;                ///< else its keys end with the id
    archive::byte_buffer begin_;           ///< the first key
    bool is_begin_known_ = false;          ///< its row was returned already
    std::optional<std::uint32_t> after_;   ///< memory alone: not yet skipped
    std::optional<rows::probe> place_;     ///< its key; none by id
    std::unique_ptr<row_reader> restored_; ///< the row with the key `begin_`
    archive::byte_buffer end_;             ///< prefix of the last keys; empty: no limit
    std::optional<archive::row_cursor> by_id_;
    std::optional<archive::key_cursor> by_key_;
    std::deque<placed_row> in_memory_;
    std::deque<placed_row> archived_;
    std::size_t ahead_; ///< rows of memory to read at once
    bool is_memory_read_ = false;
    bool is_archive_read_ = false;
    std::uint64_t handed_over_ = 0;
};

/// One object, in memory or in the archive.
struct object_row {
    std::string json;               ///< as `get` prints it
    std::vector<std::string> names; ///< of the fields
    std::vector<std::string> cells; ///< the fields, as text

    /// The object of a type with this id; nothing when there is none. `archive` may be null: there
    /// is none. Takes turns. Throws usage_error when there is no such type, and what reading
    /// throws: damaged_error, io_error.
    [[nodiscard]] static std::optional<object_row> find(row_source& state,
                                                        const archive::store* archive,
                                                        const std::string& type, std::uint32_t id);
};

/// Objects that are only in the archive and have the whole key `parts`, or this id, the newest
/// first; nothing when the archive has no rows of the type, or does not index them by this key.
/// Call it after searching memory: objects archived in between are then found here. Opens the
/// archive beside its writer. Throws what reading it throws; damaged_error when it lacks rows of
/// the type.
[[nodiscard]] std::optional<std::vector<found_row>>
find_archived(row_source& state, const std::string& type, const std::string& key,
              const std::vector<std::string>& parts);

/// A row of an archive.
struct archived_record {
    std::uint32_t id;
    archive::byte_buffer record;
};
/// The same in an archive that is open, as records, by the bytes of the key in a store (of id:
/// archive::make_key).
[[nodiscard]] std::optional<std::vector<archived_record>>
find_archived(row_source& state, const archive::store& in, const std::string& type,
              const std::string& key, archive::bytes_view wanted);

} // namespace chainbase::inspect
