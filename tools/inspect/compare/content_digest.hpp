#pragma once

#include <tools/inspect/rows/row_source.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// The digest of what a state means, from its catalogue alone: the same as archive/state_digest.hpp
/// comes to from the types, so the same for the same content, whatever the history, the addresses,
/// and the place where each object is.
struct content_digest {
    struct type {
        std::string name;
        std::string why_not;             ///< it is not in the whole; empty if it is
        std::string digest;              ///< 64 hexadecimal digits; empty: not asked for, or moved
        std::uint64_t rows = 0;          ///< in memory
        std::uint64_t archived_rows = 0; ///< in the archive only
        /// Fields of which the bytes are taken: the catalogue does not say what they mean.
        std::vector<std::string> undescribed;
    };
    struct question {
        std::vector<std::string> types; ///< just these; none: all but bookkeeping
        unsigned threads = 2;
        bool memory_only = false; ///< without what is in the archive only
    };

    std::int64_t revision = 0;
    bool is_rolled_back = false;
    /// The state changed each time that it was tried: there are no digests.
    bool has_moved = false;
    std::string digest;      ///< of all types that are in it
    std::vector<type> types; ///< by name

    /// Looks in turns, beside a writer three times and for two seconds at least, until nothing
    /// changed while it looked. Throws usage_error for a type that is not there, damaged_error also
    /// when the archive lacks rows that the state handed over, schema_error when its rows are of
    /// several layouts, and what reading the state and its archive does.
    [[nodiscard]] static content_digest of(const std::filesystem::path& state,
                                           const question& asked);
};

} // namespace chainbase::inspect
