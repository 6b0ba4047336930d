#pragma once

#include <tools/inspect/root/root_check.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// The root of a state, and whether its objects are those that it commits to, read through the
/// catalogue alone.
struct root_report {
    /// A type whose objects the root commits to.
    struct type {
        std::string name;
        std::uint64_t objects = 0;
        std::string root; ///< of its tree, as below
    };
    struct question {
        bool verify = false;
        unsigned threads = 2;
        std::uint64_t limit = 20; ///< kept faults of each kind; 0: all
    };

    std::int64_t revision = 0;
    bool is_rolled_back = false;
    bool has_moved = false;          ///< the state changed during every attempt to read it
    std::string root;                ///< 64 hexadecimal digits; empty: unknown, as what follows
    std::int64_t root_revision = -1; ///< the state's revision at the last update of the root
    std::uint64_t objects = 0;       ///< of all types
    std::vector<type> types;         ///< by name
    std::vector<std::string> contradictions; ///< of the record: root_record::contradictions()
    std::optional<root_verification> verified;

    /// Whether the root matches the current state.
    [[nodiscard]] bool is_current() const noexcept { return root_revision == revision; }
    /// Current, verified and without a fault.
    [[nodiscard]] bool is_sound() const noexcept {
        return verified && is_current() && verified->faults.total() == 0;
    }

    /// Reads in turns, beside a writer at least three times and for two seconds, until nothing
    /// changed during an attempt; for a state that keeps changing, the root is that of one moment.
    /// Throws usage_error when the state has no root, format_error when another version made it,
    /// damaged_error also when the archive lacks rows that the state handed over (only to verify),
    /// and what reading the state and its archive throws.
    [[nodiscard]] static root_report of(const std::filesystem::path& state, const question& asked);
};

} // namespace chainbase::inspect
