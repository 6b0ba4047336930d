#pragma once

#include <chainbase/object/schema.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::rows {

/// How the bytes of a value are read, made from its type's name in the catalogue (schema.hpp,
/// "field").
///
/// The catalogue does not say where members of a struct within an object lie. They are taken to
/// follow each other as a compiler lays them out, in the order in which they are described, which
/// must be that of their declaration; where their sizes do not add up to the whole, the struct is
/// `opaque`.
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
    std::uint32_t alignment = 0; ///< 0: unknown, so a struct that contains it is opaque
    std::vector<member> members; ///< of a structure; of a vector or an array its element
    bool is_id = false;          ///< a number that is the id of an object

    /// The type of a field that is called `name` and takes `bytes` of its object: `opaque` when
    /// this version does not know the name, or its length differs.
    [[nodiscard]] static value_type of(std::string_view name, std::uint32_t bytes);
    /// The type of a field, which must lie within an object of `value_bytes` and, if it is a
    /// number, a text or a vector, have the bytes of its type. Throws damaged_error.
    [[nodiscard]] static value_type of(const type_schema::field& field, std::uint32_t value_bytes);
    /// The type of that name, of any length; nothing when this version does not know it.
    [[nodiscard]] static std::optional<value_type> named(std::string_view name);

    /// The element of a vector or an array.
    [[nodiscard]] const value_type& element() const noexcept;
    /// The elements of an array.
    [[nodiscard]] std::uint32_t count() const noexcept;
    /// Whether it is a vector or an array of bytes.
    [[nodiscard]] bool is_bytes() const noexcept;
};

/// A member of a structure.
struct value_type::member {
    std::string name;
    std::uint32_t offset = 0;
    value_type type;
};

/// Throws damaged_error, naming type and field, for a layout that no program can have declared
/// whole: fields overlap, reach out of the object, or leave more of it to nobody than alignment
/// takes (members that are not described); the object, or an element of a vector, has more bytes
/// than a node may have. So an object takes no more memory than its fields explain.
void require_sound_layout(const type_schema& schema);

/// The name of a type in the catalogue; `value_type::named` reads it.
[[nodiscard]] std::string name_of(const value_type& type);

} // namespace chainbase::rows
