#pragma once

#include <chainbase/object/mapped_bytes.hpp>
#include <chainbase/object/schema.hpp>
#include <chainbase/object/value_type.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::inspect {

/// An object of a type as a one-line JSON object: {"name":value,...}.
struct row_text {
    std::string json;
    std::vector<std::size_t> ends; ///< in `json`, of each value
};

/// Formats objects of a type as JSON, from its schema.
///
///     number, bool       as JSON has them: integers of 64 bits with all their digits
///     f32, f64           the shortest number that reads back as the same; "nan", "inf", "-inf";
///     NaN
///                        with other bits than usual as "nan(7ff8000000000001)"
///     texts              as a string; invalid UTF-8 as {"hex": "ff00"}
///     bytes              vectors and arrays of u8, and what only the program understands: a string
///                        of two hexadecimal digits each
///     vectors, arrays    an array
///     described structs  an object
///
/// Every value has one form, which can be parsed back. Thread-safe.
class row_format {
public:
    explicit row_format(const type_schema& schema);

    /// Appends an object's fields in order as a one-line JSON object. Throws damaged_error naming
    /// the field when a text or a vector is missing.
    void append_json(std::string& to, const std::byte* object,
                     const rows::buffer_source& buffers) const;
    /// As append_json(), into a text of its own.
    [[nodiscard]] row_text text_of(const std::byte* object,
                                   const rows::buffer_source& buffers) const;
    /// Formats a record of the archive (archive/record/record.hpp), which has the values one after
    /// the other. Throws damaged_error naming the field when it does not fit this schema.
    [[nodiscard]] row_text text_of(std::span<const std::byte> record) const;
    /// Appends the JSON of the value of a field, with which `record` begins, and takes it away from
    /// there. Throws damaged_error naming the field when it is no such value.
    void append_value(std::string& to, std::size_t number,
                      std::span<const std::byte>& record) const;
    /// The JSON of a value in such a text; valid as long as the text.
    [[nodiscard]] std::string_view value(const row_text& of, std::size_t number) const;
    /// The values as table cells: texts without quotation marks.
    [[nodiscard]] std::vector<std::string> cells_of(const row_text& of) const;
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
    template <typename Append>
    [[nodiscard]] row_text made(Append&& append) const;

    std::string type_;
    std::vector<field> fields_;
    std::size_t typical_bytes_ = 0; ///< for an object with small values
};

} // namespace chainbase::inspect
