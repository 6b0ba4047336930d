#pragma once

#include <chainbase/schema.hpp>

#include <cstdint>

namespace chainbase::rows {

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
