#pragma once

#include <archive/store.hpp>
#include <chainbase/fwd.hpp>
#include <chainbase/object.hpp>

#include <cstdint>

namespace chainbase::archive {

/// A store whose rows are objects of the state, without a disk of their own: for chains that
/// archive little, and where RocksDB is not wanted. It saves no memory: a row with its keys takes
/// about twice what the object took.
///
/// A batch is a change of the current session, and popped with it: its rows are never ahead of the
/// state or behind it. Rows come to checkpoints as all objects do. sync() has nothing to do.
///
/// Thread-safety: as the database: reads under its read lock, write() and open_table() by its
/// writer. Handles and cursors keep what they show, whatever is written.
class memory_store final : public store {
public:
    /// In `state`, which outlives it; registers the types "archive.table", "archive.row" and
    /// "archive.key". Throws what database::add_type throws.
    explicit memory_store(database& state);

    [[nodiscard]] std::string name() const override;
    [[nodiscard]] store_kind kind() const noexcept override { return store_kind::memory; }
    [[nodiscard]] bool outlives_process() const noexcept override { return true; }
    [[nodiscard]] bool is_of_the_state() const noexcept override { return true; }

protected:
    void create_table(const table_description& table) override;
    write_totals apply(const write_batch& batch) override;
    std::optional<pinned_row> read(table_id table, std::uint32_t id) const override;
    std::optional<pinned_row> read(table_id table, std::uint32_t index, bytes_view key,
                                   const row_predicate& counts) const override;
    std::uint64_t row_count(table_id table) const override;
    std::unique_ptr<row_cursor_source> scan(table_id table, std::uint32_t from) const override;
    std::unique_ptr<key_cursor_source> scan(table_id table, std::uint32_t index,
                                            bytes_view from) const override;
    void make_durable(bool) override {}

private:
    class current;
    class row_source;
    class key_source;

    database& state_;
};

} // namespace chainbase::archive

/// The objects that memory_store keeps in the state: tables, rows and keys.
namespace chainbase::archive::detail {

struct kept_table {
    chainbase::id<kept_table> id; ///< its table_id
    shared_string name;
    shared_string key_names; ///< a line each
    std::uint64_t rows = 0;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(kept_table, (), (id, name, key_names, rows))

struct by_number;

struct kept_row {
    chainbase::id<kept_row> id;
    std::uint32_t table = 0;
    std::uint32_t number = 0; ///< the row's id
    shared_bytes content;     ///< a stored row (write_batch.hpp)

    using keys = chainbase::keys<ordered_unique<by_number, &kept_row::table, &kept_row::number>>;
};
BOOST_DESCRIBE_STRUCT(kept_row, (), (id, table, number, content))

struct by_bytes;

struct kept_key {
    chainbase::id<kept_key> id;
    std::uint32_t table = 0;
    std::uint32_t index = 0; ///< the number of the key among the table's
    std::uint32_t row = 0;
    shared_string bytes;

    /// Rows that share a key stand together, the newest first.
    using keys =
        chainbase::keys<ordered_unique<by_bytes, &kept_key::table, &kept_key::index,
                                       &kept_key::bytes, chainbase::descending<&kept_key::row>>>;
};
BOOST_DESCRIBE_STRUCT(kept_key, (), (id, table, index, row, bytes))

} // namespace chainbase::archive::detail
