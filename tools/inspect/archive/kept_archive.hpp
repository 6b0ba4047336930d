#pragma once

#include <archive/store.hpp>
#include <chainbase/rows/mapped_bytes.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/memory/state_report.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace chainbase::inspect {

/// The queue of a type with a life cycle (archive/lifecycle.hpp) is called as the type, and this.
inline constexpr std::string_view queue_suffix = ".retired";

/// How many objects of `type` were handed over for good, as lifecycle::handed_over() counts them:
/// the archive of a whole state has at least so many rows of it. Ids of the queue are given in
/// order, and an entry goes with its object: when that is handed over, or, if it is withdrawn,
/// removed. So these are the entries that were given, less those that wait and those withdrawn.
/// Nothing when the type has no life cycle.
///
/// In a turn. Throws damaged_error.
[[nodiscard]] std::optional<std::uint64_t> objects_handed_over(row_source& state,
                                                               const std::string& type);
/// The same of all types that have a life cycle. Takes a turn.
[[nodiscard]] std::map<std::string, std::uint64_t> objects_handed_over(row_source& state);
/// The same of one, of a report.
[[nodiscard]] std::optional<std::uint64_t> objects_handed_over(const state_report& state,
                                                               const std::string& type);

/// The rows that an archive of the kind `memory` keeps in a state, read through the catalogue: also
/// of a state whose writer died, as the next opening rolls it back. Each call takes turns of its
/// own, so none may be made in a turn. Thread-safe.
class kept_archive final : public archive::store {
public:
    /// `state` outlives it. Takes turns. Throws damaged_error when what it finds are no tables.
    explicit kept_archive(row_source& state);

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

/// The table of this name; nothing if there is none.
[[nodiscard]] std::optional<archive::table_id> table_called(const archive::store& store,
                                                            const std::string& name);

/// A number in an object of `of`. Throws damaged_error when its type has no field of this name and
/// length.
template <typename Number>
[[nodiscard]] Number number_of(const rows::type_rows& of, slot_number slot, const char* field) {
    for (const type_schema::field& one : of.schema().fields)
        if (one.name == field && one.bytes == sizeof(Number) &&
            std::uint64_t{one.offset} + one.bytes <= of.schema().value_bytes)
            return rows::copy_at<Number>(of.slots().value(slot) + one.offset);
    throw damaged_error(of.schema().name + ": has no field " + field + " as this version knows it");
}

/// Opens the archive of `state` for reading, whatever its kind; null when it has none, or one that
/// keeps no rows. Takes turns. Throws what opening it does.
[[nodiscard]] std::unique_ptr<archive::store> open_archive(row_source& state);
/// The same for who counts on all rows: throws damaged_error when it lacks rows that the state
/// handed over, also when there is none.
[[nodiscard]] std::unique_ptr<archive::store> open_whole_archive(row_source& state);

} // namespace chainbase::inspect
