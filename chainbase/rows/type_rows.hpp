#pragma once

#include <chainbase/rows/buffer_source.hpp>
#include <chainbase/rows/slot_reader.hpp>
#include <chainbase/rows/table_reader.hpp>
#include <chainbase/rows/tree_reader.hpp>
#include <chainbase/rows/type_layout.hpp>
#include <chainbase/schema.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace chainbase::rows {

/// The objects of one type of a state, found as its program finds them, from the catalogue alone.
///
/// For who reads under the read lock, and as long as that is held, or a state that nobody writes.
/// Thread-safe.
class type_rows {
public:
    /// What is mapped of a type; all outlive the rows.
    struct source {
        const type_schema* schema;
        const window* objects;
        const window* ids;
        std::vector<const window*> tables; ///< of its hashed keys
        const buffer_source* buffers;
    };

    /// Throws damaged_error when the catalogue does not fit the files.
    explicit type_rows(source from);

    [[nodiscard]] const type_schema& schema() const noexcept { return *from_.schema; }
    [[nodiscard]] const buffer_source& buffers() const noexcept { return *from_.buffers; }
    [[nodiscard]] const slot_reader& slots() const noexcept { return slots_; }

    /// The key of this name. Throws usage_error, which lists those there are.
    [[nodiscard]] const type_schema::key& key_called(std::string_view name) const;
    /// The tree of an ordered or ranked key; nothing for a hashed one.
    [[nodiscard]] std::optional<tree_reader> tree(const type_schema::key& key) const;
    /// The table of a hashed key; nothing for another one. Throws damaged_error when it is not
    /// within its file.
    [[nodiscard]] std::optional<table_reader> table(const type_schema::key& key) const;
    /// The slots of all objects with this key, in the order of the key. Requires a whole
    /// key.
    [[nodiscard]] std::vector<slot_number> find(const type_schema::key& key,
                                                const probe& wanted) const;

private:
    source from_;
    type_layout layout_;
    slot_reader slots_;
};

} // namespace chainbase::rows
