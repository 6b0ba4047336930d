#pragma once

#include <chainbase/offline/rows/type_rows.hpp>
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

/// A query for objects of a type, as text.
struct row_query {
    std::string type;
    std::string key = "id";        ///< its name, or "id"
    std::vector<std::string> only; ///< required leading parts
    std::vector<std::string> from; ///< first key; empty: from the start
    std::vector<std::string> to;   ///< prefix of the last keys; empty: to the end
    bool is_reverse = false;

    /// Whether it selects all objects of the type.
    [[nodiscard]] bool is_all() const noexcept {
        return only.empty() && from.empty() && to.empty();
    }
    /// Takes a turn to look up the type and the key. The cursor must not outlive `in`. Throws
    /// usage_error for unknown names, invalid values, and a hashed key, which has no order.
    [[nodiscard]] std::unique_ptr<rows::row_cursor> cursor(row_source& in) const;
};

/// An object of a type.
struct found_row {
    std::uint32_t id = 0;
    bool is_archived = false; ///< it is only in the archive
    row_text text;
};

/// Objects as of one turn.
struct found_rows {
    std::int64_t revision = 0;
    std::optional<row_format> format; ///< of the type
    std::vector<found_row> rows;
    bool is_unique = false; ///< at most one object can have such a key
};

/// The id in `parts`. Throws usage_error for an invalid one.
[[nodiscard]] std::uint32_t id_of(const std::vector<std::string>& parts);

/// All objects in memory that have the whole key `parts`; for id, the one object. Throws
/// usage_error as row_query::cursor, except for a hashed key, and when parts are missing.
[[nodiscard]] found_rows find_rows(row_source& in, const std::string& type, const std::string& key,
                                   const std::vector<std::string>& parts);

/// Whether a turn is over; reads the clock only now and then.
class turn_end {
public:
    bool is_reached() {
        constexpr std::uint32_t between = 16;
        return ++asked_ % between == 0 && clock::now() - begin_ > row_source::slice;
    }

private:
    using clock = std::chrono::steady_clock;

    clock::time_point begin_ = clock::now();
    std::uint32_t asked_ = 0;
};

/// Visits objects of a type in turns of at most row_source::slice each. In a turn `read` adds what
/// it wants of an object to a batch, and returns whether to continue; the batch of a turn that
/// counts is given to `take`. Returns whether `read` stopped it, so that there may be more. Throws
/// what they throw, and what turns and cursors throw.
template <typename Batch, typename Read, typename Take>
bool scan(row_source& from, const std::string& type, std::unique_ptr<rows::row_cursor>& cursor,
          Read&& read, Take&& take) {
    for (bool is_wanted = true, is_more = true; is_more;) {
        Batch batch;
        std::unique_ptr<rows::row_cursor> next;
        from.take_turn([&] {
            batch = Batch();
            is_wanted = true;
            next = cursor->copy();
            turn_end end;
            const rows::type_rows of = from.of(type);
            is_more = next->advance(of, [&](slot_number slot) {
                is_wanted = read(batch, of, slot);
                return is_wanted && !end.is_reached();
            });
        });
        cursor = std::move(next);
        take(std::move(batch));
        if (!is_wanted) return true;
    }
    return false;
}

} // namespace chainbase::inspect
