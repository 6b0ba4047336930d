#pragma once

#include <chainbase/bulk_load/key_loaders.hpp>
#include <chainbase/check/state_check.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// What of one type of a state, sound or not, can still be read.
struct rescued_type {
    const check::type_check* from = nullptr;
    std::vector<slot_number> slots;      ///< of objects all of whose fields can be read, by id
    std::vector<std::uint32_t> lost;     ///< ids of those of which a text or vector is nowhere
    std::vector<std::uint32_t> doubtful; ///< ids of those that can be read, and `check` found
                                         ///< something about them: bytes of them may be wrong
    bulk_load::key_orders orders;        ///< of keys that a function computes
    std::string why_no_orders;           ///< why not of all; empty otherwise
};

/// Of all types that `check` could tell something of. `state` outlives it, and is mapped.
[[nodiscard]] std::vector<rescued_type> rescue(const check::state_check& state);

/// Types of which nothing can be told: their files could not be opened.
[[nodiscard]] std::vector<std::string> lost_types(const check::state_check& state);

} // namespace chainbase::inspect
