#pragma once

#include <tools/sink/databases.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace chainbase::sink {

/// Whether the rows of databases are the objects of a state.
struct verification {
    struct difference {
        std::string type;
        std::uint32_t id;
        std::string what; ///< "missing", "too many", or the columns that differ
    };

    revision_number revision = 0; ///< at which they were compared
    std::string state_digest; ///< of the types of the state's content (archive/state_digest.hpp)
    std::string rows_digest;  ///< of the rows, computed as that of a state
    std::uint64_t rows = 0;
    std::uint64_t told_since = 0; ///< objects that changed after the databases' revision
    std::uint64_t different = 0;
    std::vector<difference> first; ///< some of these

    [[nodiscard]] bool is_same() const noexcept {
        return different == 0 && state_digest == rows_digest;
    }
};

/// Compares row by row, as of one block of the state: where it has gone on, what its feed has told
/// since the databases' position counts in place of the rows, also of types that they have no table
/// of yet. Changes nothing. Begins again where a connection is lost.
///
/// Throws usage_error when there are no rows of this state yet, busy_error when the state changed
/// during each attempt, and what reading throws.
[[nodiscard]] verification verify(const sink_options& asked, std::size_t most_differences,
                                  std::function<bool()> is_over);

} // namespace chainbase::sink
