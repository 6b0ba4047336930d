#pragma once

#include <chainbase/rows/value_type.hpp>
#include <chainbase/schema.hpp>

#include <cstddef>
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

} // namespace chainbase::inspect
