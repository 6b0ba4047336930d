#pragma once

#include <chainbase/rows/type_rows.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Which objects of a type are wanted, in words.
struct row_query {
    std::string type;
    std::string key = "id";        ///< its name, or "id"
    std::vector<std::string> only; ///< leading parts that all have
    std::vector<std::string> from; ///< where to begin; none: at the first
    std::vector<std::string> to;   ///< the last one, and what begins with it; none: the last
    bool is_reverse = false;

    /// Whether all objects of the type are.
    [[nodiscard]] bool is_all() const noexcept {
        return only.empty() && from.empty() && to.empty();
    }
    /// Takes a turn to look for the type and the key. The cursor stays within the life of `in`.
    /// Throws usage_error for what there is not, what is no value of a part, and a hashed key,
    /// which has no order.
    [[nodiscard]] std::unique_ptr<rows::row_cursor> cursor(row_source& in) const;
};

/// An object of a type.
struct found_row {
    std::uint32_t id = 0;
    bool is_archived = false; ///< it is in the archive only
    row_text text;
};

/// Objects as they were in one turn.
struct found_rows {
    std::int64_t revision = 0;
    std::optional<row_format> format; ///< of the type
    std::vector<found_row> rows;
    bool is_unique = false; ///< no more than one object can have such a key
};

/// The id that `parts` name. Throws usage_error when they are none.
[[nodiscard]] std::uint32_t id_of(const std::vector<std::string>& parts);

/// All objects in memory that have the whole key `parts`; of id, the one object. Throws usage_error
/// as row_query::cursor does, but for a hashed key, and when parts are missing.
[[nodiscard]] found_rows find_rows(row_source& in, const std::string& type, const std::string& key,
                                   const std::vector<std::string>& parts);

/// Goes through objects of a type in turns of at most row_source::slice each. `look` is called in a
/// turn for each object, and returns whether it wants another one; `rest`, if there is one, after
/// each turn. Returns whether `look` ended it, so that there may be more. Throws what they throw,
/// and what turns and cursors do.
bool scan(row_source& from, const std::string& type, rows::row_cursor& cursor,
          const std::function<bool(const rows::type_rows&, slot_number)>& look,
          const std::function<void()>& rest = {});

} // namespace chainbase::inspect
