#pragma once

#include <chainbase/check/buffer_check.hpp>
#include <chainbase/schema.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::check {

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

/// Compares and hashes objects by a key as the program does, as far as the catalogue describes its
/// parts.
class key_reader {
public:
    /// Throws damaged_error when a part is no field. `buffers` outlives it.
    key_reader(const type_schema& schema, const type_schema::key& key, const buffer_check& buffers);

    /// What of two objects comes first; nothing when that is not known: a part is not described, or
    /// refers to no buffer.
    [[nodiscard]] std::optional<std::strong_ordering> compare(const std::byte* a,
                                                              const std::byte* b) const;
    /// The 32 bits that a hash_table keeps.
    [[nodiscard]] std::optional<std::uint32_t> hash(const std::byte* object) const;

    /// Why the order is not or not always known; empty if it is.
    [[nodiscard]] const std::string& why_no_order() const noexcept { return why_no_order_; }
    [[nodiscard]] const std::string& why_no_hash() const noexcept { return why_no_hash_; }

private:
    struct part {
        field_type type;
        bool is_descending;
    };

    [[nodiscard]] std::optional<std::strong_ordering>
    compare_part(const field_type& type, const std::byte* a, const std::byte* b) const;
    [[nodiscard]] std::optional<std::string_view> text_of(const std::byte* handle) const;

    std::vector<part> parts_; ///< up to the first one that is not described
    const buffer_check& buffers_;
    std::string why_no_order_;
    std::string why_no_hash_;
};

} // namespace chainbase::check
