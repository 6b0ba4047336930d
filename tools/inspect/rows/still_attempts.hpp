#pragma once

#include <tools/inspect/rows/beside_writer.hpp>
#include <tools/inspect/rows/type_records.hpp>

#include <chrono>
#include <optional>

namespace chainbase::inspect {

/// What `attempt()`, which looks at a state in turns, returns when nothing changed while it looked:
/// it throws moved_meanwhile otherwise. Beside a writer it is made three times and for two seconds
/// at least; nothing if something changed each time. Throws what it throws else.
template <typename Attempt>
auto attempt_while_still(Attempt&& attempt) -> std::optional<decltype(attempt())> {
    constexpr int least_attempts = 3;
    const patience until(std::chrono::seconds(2));
    for (int attempts = 1; attempts <= least_attempts || !until.is_over(); ++attempts) {
        try {
            return attempt();
        } catch (const moved_meanwhile&) {
            patience::pause();
        }
    }
    return std::nullopt;
}

} // namespace chainbase::inspect
