#pragma once

#include <archive/store.hpp>
#include <chainbase/object/mapped_bytes.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/memory/state_report.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace chainbase::inspect {

/// The queue of a type with a life cycle (archive/lifecycle.hpp) has the type's name plus this
/// suffix.
inline constexpr std::string_view queue_suffix = ".retired";

/// The number of irrevocably archived objects of `type`, as lifecycle::handed_over() counts them:
/// the archive of a whole state has at least that many rows. The queue assigns its ids in order,
/// and removes an entry with its object: when the object is handed over or, if withdrawn, removed.
/// So it is the number of assigned ids, less waiting and withdrawn entries. Nothing for a type
/// without a life cycle.
///
/// Call it in a turn. Throws damaged_error.
[[nodiscard]] std::optional<std::uint64_t> objects_handed_over(row_source& state,
                                                               const std::string& type);
/// The counts of all types with a life cycle. Takes a turn.
[[nodiscard]] std::map<std::string, std::uint64_t> objects_handed_over(row_source& state);
/// The count of one type, from a report.
[[nodiscard]] std::optional<std::uint64_t> objects_handed_over(const state_report& state,
                                                               const std::string& type);

/// Reads the rows of an archive of the kind `memory` in a state's segment, through the catalogue:
/// also of a state whose writer died, as the next opening rolls it back. Each call takes its own
/// turns, so it must not be called in a turn. Thread-safe.
class segment_archive final : public archive::store {
public:
    /// `state` must outlive it. Takes turns. Throws damaged_error when the tables are invalid.
    explicit segment_archive(row_source& state);

    [[nodiscard]] std::string name() const override;
    [[nodiscard]] archive::store_kind kind() const noexcept override {
        return archive::store_kind::memory;
    }
    [[nodiscard]] bool outlives_process() const noexcept override { return true; }
    [[nodiscard]] bool is_of_the_state() const noexcept override { return true; }

protected:
    void create_table(const archive::table_description& table) override;
    write_totals apply(const archive::write_batch& batch) override;
    std::optional<archive::pinned_row> read(archive::table_id table,
                                            std::uint32_t id) const override;
    std::optional<archive::pinned_row> read(archive::table_id table, std::uint32_t index,
                                            archive::bytes_view key,
                                            const archive::row_predicate& counts) const override;
    std::uint64_t row_count(archive::table_id table) const override;
    std::unique_ptr<archive::row_cursor_source> scan(archive::table_id table,
                                                     std::uint32_t from) const override;
    std::unique_ptr<archive::key_cursor_source> scan(archive::table_id table, std::uint32_t index,
                                                     archive::bytes_view from) const override;
    void make_durable(bool) override {}

private:
    class row_source_of;
    class key_source_of;

    row_source& state_;
};

/// The table with this name; nothing if there is none.
[[nodiscard]] std::optional<archive::table_id> table_called(const archive::store& store,
                                                            const std::string& name);

/// A number in an object of `of`. Throws damaged_error when its type has no field with this name
/// and length.
template <typename Number>
[[nodiscard]] Number number_of(const rows::type_rows& of, slot_number slot, const char* field) {
    for (const type_schema::field& one : of.schema().fields)
        if (one.name == field && one.bytes == sizeof(Number) &&
            std::uint64_t{one.offset} + one.bytes <= of.schema().value_bytes)
            return rows::copy_at<Number>(of.slots().value(slot) + one.offset);
    throw damaged_error(of.schema().name + ": has no field " + field + " as this version knows it");
}

/// Opens the archive of `state` for reading, whatever its kind; null without an archive, or for a
/// kind without rows. Takes turns. Throws what opening it throws.
[[nodiscard]] std::unique_ptr<archive::store> open_archive(row_source& state);
/// Throws damaged_error when `archive` (null: none) has fewer than the `expected` number of rows,
/// those that the state handed over.
void require_rows(const row_source& state, const archive::store* archive, const std::string& type,
                  std::uint64_t expected);
/// Opens an archive that must be complete: throws as require_rows() for each type.
[[nodiscard]] std::unique_ptr<archive::store> open_whole_archive(row_source& state);

} // namespace chainbase::inspect
