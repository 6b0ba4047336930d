#pragma once

#include <chainbase/state_root/recorded_root.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

/// What a state keeps of its root, read through the catalogue.
struct root_record {
    struct contradiction {
        std::string type; ///< of the object of the record that is said to be wrong
        std::uint32_t id = 0;
        std::string text;
    };

    state_root::recorded_root recorded;
    std::vector<state_root::committed_type> types; ///< by id, which is by name

    /// Call it in a turn. Throws usage_error when the state has no root, format_error when another
    /// version made it, damaged_error.
    [[nodiscard]] static root_record of(row_source& state);

    /// Null: the root does not commit to that type.
    [[nodiscard]] const state_root::committed_type* find(std::string_view name) const noexcept;
    /// How the record is not one that a program makes: the root follows from the types, and the
    /// number of objects is their sum. Empty: the record agrees with itself.
    [[nodiscard]] std::vector<contradiction> contradictions() const;
};

} // namespace chainbase::inspect
