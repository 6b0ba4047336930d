#pragma once

#include <chainbase/object.hpp>

#include <cstdint>

/// What memory_store keeps in the state: tables, rows and keys as objects of it.
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
    shared_bytes content;     ///< a stored row (detail/stored_row.hpp)

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
