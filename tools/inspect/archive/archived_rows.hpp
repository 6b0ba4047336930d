#pragma once

#include <tools/inspect/rows/row_source.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Objects that left memory for the archive.
struct archived_rows {
    /// One of them: its fields as JSON values.
    struct row {
        std::uint32_t id;
        std::vector<std::string> values;
    };

    bool is_asked = false; ///< the archive has rows of the type, and finds them by this key
    std::vector<row> rows; ///< those that count, the newest first

    /// Those with the whole key `parts` of `type`, or with this id. To be asked after memory was:
    /// what was not there then is found here. Opens the archive beside its writer. Throws what
    /// reading it does.
    [[nodiscard]] static archived_rows find(row_source& state, const std::string& type,
                                            const std::string& key,
                                            const std::vector<std::string>& parts);
    /// In a turn: whether a row of the archive is an object of the state that is there only.
    [[nodiscard]] static bool counts(row_source& state, const std::string& type, std::uint32_t id);
};

} // namespace chainbase::inspect
