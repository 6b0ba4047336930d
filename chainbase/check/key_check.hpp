#pragma once

#include <chainbase/check/slot_checks.hpp>
#include <chainbase/rows/key_reader.hpp>
#include <chainbase/rows/type_layout.hpp>
#include <pool_allocator/flat_tables.hpp>

namespace chainbase::check {

/// Looks at the table of a hashed key: every entry leads to an object, has the hash of its key, and
/// is found by probing; no two have the same key; every object has an entry or, of a key that is
/// not unique, is in the ring of one. What is wrong is added to `to`. Takes time in proportion to
/// the table and the slots, whatever is in them.
void check_table(object_slots& objects, const window& file, const rows::type_layout::table& of,
                 const rows::key_reader& key, part_report& to);

/// Walks the red-black tree of an ordered or ranked key: every object is reached once, parents and
/// children agree, colours and black heights are a red-black tree's, sizes of subtrees are right,
/// and the keys are in order. What is wrong is added to `to`; nothing below a wrong link is walked.
/// Takes time and memory in proportion to the slots, whatever the links are.
void check_tree(object_slots& objects, const rows::type_layout::tree& of,
                const rows::key_reader& key, part_report& to);

} // namespace chainbase::check
