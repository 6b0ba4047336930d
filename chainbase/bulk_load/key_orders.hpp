#pragma once

#include <chainbase/rows/type_rows.hpp>

#include <cstdint>
#include <functional>
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

    /// Forgets the objects for which `is_kept` does not hold.
    void retain(const std::function<bool(std::uint32_t id)>& is_kept);
};

/// Whether only the program can tell the order of a tree, the hashes of a table: a function of it
/// computes a part, or a part is of a type that the catalogue does not describe. Throws
/// damaged_error when a part is no field.
[[nodiscard]] bool is_computed(const type_schema& schema, const type_schema::key& key);

/// The orders that keys have where the rows are; objects of equal keys stay in the order in which
/// they were added. Of all keys, or only of computed ones. Under the read lock, or of a state that
/// nobody writes. Throws damaged_error when a tree or a table leads astray.
enum class which_keys { all, computed };
[[nodiscard]] key_orders orders_of(const rows::type_rows& from, which_keys of = which_keys::all);

} // namespace chainbase::bulk_load
