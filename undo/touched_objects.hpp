#pragma once

#include <undo/undo_log.hpp>

#include <compare>
#include <cstdint>
#include <vector>

namespace chainbase {

/// An object, by where its type's objects live.
struct object_place {
    std::uint32_t window; ///< its index
    std::uint32_t id;

    friend constexpr auto operator<=>(object_place, object_place) = default;
};

/// The objects that were created, modified or removed since a session began at `begin`, each once,
/// in order; those too of which nothing is left, or which are as they were. Cheaper than
/// session_changes, since nothing is made out of what they were. Throws std::bad_alloc. Between
/// operations.
[[nodiscard]] std::vector<object_place> touched_objects(const undo_log& log, log_position begin);

} // namespace chainbase
