#pragma once

#include <chainbase/schema.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::rows {

/// How the bytes of a value are read, from what the catalogue calls its type (schema.hpp, "field").
///
/// The catalogue does not say where members of a struct within an object lie. They are taken to
/// follow each other as a compiler lays them out, in the order in which they are described, which
/// has to be that of their declaration; where the bytes of all do not come to the bytes of the
/// whole, it is `opaque`.
struct value_type {
    enum class kind {
        boolean,
        number,     ///< an integer of 1 to 16 bytes, an enum, an id
        floating,   ///< f32, f64
        fixed_text, ///< fixed_string
        text,       ///< shared_string
        vector,     ///< shared_vector
        array,
        structure,
        opaque, ///< bytes that only the program understands
    };
    struct member;

    kind what = kind::opaque;
    bool is_signed = false;
    std::uint32_t bytes = 0;     ///< in the object
    std::uint32_t alignment = 0; ///< 0: not known, so no struct that has it is understood
    std::vector<member> members; ///< of a structure; of a vector or an array its element
    bool is_id = false;          ///< a number that is the id of an object

    /// The type of a field that is called `name` and takes `bytes` of its object: `opaque` when the
    /// name is none that this version knows, or is of another length.
    [[nodiscard]] static value_type of(std::string_view name, std::uint32_t bytes);
    /// The type of that name, whatever bytes it takes; nothing when this version knows none.
    [[nodiscard]] static std::optional<value_type> named(std::string_view name);

    /// The element of a vector or an array.
    [[nodiscard]] const value_type& element() const noexcept;
    /// Whether it is a vector or an array of bytes.
    [[nodiscard]] bool is_bytes() const noexcept;
};

/// A value within another one.
struct value_type::member {
    std::string name;
    std::uint32_t offset = 0;
    value_type type;
};

/// How a field's bytes are read, from what the catalogue says of it.
struct field_type {
    enum class kind {
        number,       ///< integers, bool, enums, ids
        numbers,      ///< an array of them
        floating,     ///< f32, f64
        fixed_text,   ///< fixed_string
        text,         ///< shared_string
        vector,       ///< shared_vector
        not_described ///< what has an order or a hash that only the program knows
    };

    kind what = kind::not_described;
    bool is_signed = false;
    std::uint32_t offset = 0;  ///< in the object
    std::uint32_t bytes = 0;   ///< there
    std::uint32_t element = 0; ///< bytes of an element, 0 if that is not known

    /// Throws damaged_error when the field is not within an object of `value_bytes`, or has not the
    /// bytes of its type.
    static field_type of(const type_schema::field& field, std::uint32_t value_bytes);
};

} // namespace chainbase::rows
