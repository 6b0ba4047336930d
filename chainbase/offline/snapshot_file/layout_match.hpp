#pragma once

#include <chainbase/object/value_type.hpp>
#include <chainbase/offline/snapshot_file/object_of_record.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::snapshot_file {

/// A value of a layout: the object, a field, a member, or what a vector or an array consists of.
struct layout_value {
    std::string name;
    std::string path; ///< of an element: that of its vector
    std::string type; ///< as the catalogue has it
    rows::value_type::kind what = rows::value_type::kind::structure;
    bool is_signed = false;
    std::uint32_t bytes = 0;         ///< in the object
    std::uint32_t offset = 0;        ///< in the object, the struct
    std::uint64_t least = 0;         ///< bytes in a record
    std::vector<layout_value> parts; ///< members of a struct; the element

    [[nodiscard]] const layout_value& element() const noexcept { return parts.front(); }
    [[nodiscard]] std::uint32_t count() const noexcept { ///< of an array
        return element().bytes == 0 ? 0 : bytes / element().bytes;
    }
    [[nodiscard]] bool is_sequence() const noexcept {
        return what == rows::value_type::kind::vector || what == rows::value_type::kind::array;
    }
};

/// A value of the new layout, and the one of the old layout that it is made of.
struct value_match {
    const layout_value* from = nullptr; ///< null: added
    const layout_value* to = nullptr;   ///< null: dropped
    field_change::kind what = field_change::kind::same;
    std::vector<value_match> parts{}; ///< of structs: members; of sequences: the element
};

/// Which value of an old layout becomes which of a new one: what object_of_record says, without
/// the steps that do it. Immutable; owns all that it returns.
class layout_match {
public:
    /// Throws damaged_error for a layout that does not fit itself, as object_of_record does.
    layout_match(const type_schema& from, const type_schema& to, const migration_rules& rules);
    layout_match(const layout_match&) = delete;
    layout_match& operator=(const layout_match&) = delete;

    /// Of the objects, which are structs of their fields.
    [[nodiscard]] const value_match& object() const noexcept { return object_; }
    /// As object_of_record::changes has them.
    [[nodiscard]] std::vector<field_change> changes() const;
    /// All that forbids the migration by these rules, for a message; empty: nothing.
    [[nodiscard]] const std::string& objections() const noexcept { return objections_; }

private:
    layout_value from_;
    layout_value to_;
    value_match object_;
    std::string objections_;
};

} // namespace chainbase::snapshot_file
