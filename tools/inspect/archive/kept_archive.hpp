#pragma once

#include <archive/store.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <memory>

namespace chainbase::inspect {

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

/// Opens the archive of `state` for reading, whatever its kind; null when it has none, or one that
/// keeps no rows. Takes turns. Throws what opening it does.
[[nodiscard]] std::unique_ptr<archive::store> open_archive(row_source& state);
/// The same for who counts on all rows: throws damaged_error when it lacks rows that the state
/// handed over, also when there is none.
[[nodiscard]] std::unique_ptr<archive::store> open_whole_archive(row_source& state);

} // namespace chainbase::inspect
