#pragma once

#include <chainbase/rows/type_rows.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <functional>
#include <string>

namespace chainbase::inspect {

/// Goes through objects of a type in turns of at most row_source::slice each. `look` is called in a
/// turn for each object, and returns whether it wants another one; `rest`, if there is one, after
/// each turn. Throws what they throw, and what turns and cursors do.
void scan(row_source& from, const std::string& type, rows::row_cursor& cursor,
          const std::function<bool(const rows::type_rows&, slot_number)>& look,
          const std::function<void()>& rest = {});

} // namespace chainbase::inspect
