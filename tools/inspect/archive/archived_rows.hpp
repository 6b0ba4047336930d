#pragma once

#include <chainbase/rows/value_type.hpp>
#include <chainbase/schema.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Records of the archive (archive/record.hpp) as the JSON that row_format makes of the objects
/// that they were, from the schema of their type. Thread-safe.
class record_format {
public:
    explicit record_format(const type_schema& schema);

    /// The fields of a record as JSON values, in their order. Throws damaged_error, which names the
    /// field, when the record is not one of this schema.
    [[nodiscard]] std::vector<std::string> values(std::span<const std::byte> record) const;

private:
    std::string type_;
    std::vector<rows::value_type::member> fields_;
};

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
