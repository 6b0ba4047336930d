#pragma once

#include <chainbase/rows/type_rows.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace chainbase::bulk_load {

/// What is known of the keys of a type's objects, by name of the key; what is not in here is sorted
/// and hashed as far as the catalogue describes it. Every object has to be in each of them once.
struct key_orders {
    /// An object in the table of a hashed key.
    struct entry {
        std::uint32_t id;
        std::uint32_t hash;
        bool has_key_of_previous; ///< it follows in the ring of those with one key
    };

    /// Of ordered and ranked keys: the ids in their order.
    std::map<std::string, std::vector<std::uint32_t>> trees;
    std::map<std::string, std::vector<entry>> tables;
};

/// The orders that the keys of a type have where its rows are: objects of equal keys stay in the
/// order in which they were added. Under the read lock, or of a state that nobody writes. Throws
/// damaged_error when a tree or a table leads astray.
[[nodiscard]] key_orders orders_of(const rows::type_rows& from);

} // namespace chainbase::bulk_load
