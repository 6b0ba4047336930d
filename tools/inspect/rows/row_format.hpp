#pragma once

#include <chainbase/rows/mapped_bytes.hpp>
#include <chainbase/rows/value_type.hpp>
#include <chainbase/schema.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// Objects of a type as JSON, from its schema.
///
///     number, bool       as JSON has them: integers of 64 bits with all their digits
///     f32, f64           the shortest number that reads back as the same; "nan", "inf", "-inf"
///     texts              as a string; bytes that are no UTF-8 as {"hex": "ff00"}
///     bytes              vectors and arrays of u8, and what only the program understands: a string
///                        of two hexadecimal digits each
///     vectors, arrays    an array
///     described structs  an object
///
/// Every value has one form, from which it can be read back. Thread-safe.
class row_format {
public:
    explicit row_format(const type_schema& schema);

    /// Appends an object's fields, in their order, as one JSON object in one line. Throws
    /// damaged_error, which names the field, when a text or a vector is nowhere.
    void append_json(std::string& to, const std::byte* object,
                     const rows::buffer_source& buffers) const;
    /// The fields of an object as JSON values, in their order. Throws as append_json() does.
    [[nodiscard]] std::vector<std::string> values(const std::byte* object,
                                                  const rows::buffer_source& buffers) const;
    /// The same of a record of the archive (archive/record.hpp), which has the values one after the
    /// other. Throws damaged_error, which names the field, when it is not one of this schema.
    [[nodiscard]] std::vector<std::string> values(std::span<const std::byte> record) const;
    /// An object of these values.
    [[nodiscard]] std::string json_of(const std::vector<std::string>& values) const;
    /// The values for a table: texts without their quotation marks.
    [[nodiscard]] std::vector<std::string> cells_of(std::vector<std::string> values) const;
    /// The names of the fields.
    [[nodiscard]] std::vector<std::string> names() const;
    /// Whether a field is a text.
    [[nodiscard]] bool is_text(std::size_t number) const noexcept;

private:
    struct field {
        std::string name;
        std::string begin; ///< the name as JSON, with its colon
        std::uint32_t offset;
        rows::value_type type;
    };

    void append(std::string& to, const field& of, const std::byte* object,
                const rows::buffer_source& buffers) const;

    std::string type_;
    std::vector<field> fields_;
};

} // namespace chainbase::inspect
