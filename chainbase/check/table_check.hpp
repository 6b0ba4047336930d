#pragma once

#include <chainbase/check/object_slots.hpp>
#include <chainbase/rows/key_reader.hpp>
#include <chainbase/rows/type_layout.hpp>
#include <pool_allocator/hash_table.hpp>

namespace chainbase::check {

/// Looks at the table of a hashed key: every entry leads to an object, has the hash of its key, and
/// is found by probing; no two have the same key; every object has an entry or, of a key that is
/// not unique, is in the ring of one. What is wrong is added to `to`. Takes time in proportion to
/// the table and the slots, whatever is in them.
void check_table(object_slots& objects, const window& file, const rows::type_layout::table& of,
                 const rows::key_reader& key, part_report& to);

} // namespace chainbase::check
