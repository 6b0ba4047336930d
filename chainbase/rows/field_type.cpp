#include <chainbase/rows/field_type.hpp>
#include <chainbase/rows/value_type.hpp>
#include <pool_allocator/error.hpp>

#include <fmt/format.h>

namespace chainbase::rows {

namespace {

constexpr std::uint32_t widest_number = 8; ///< that is compared and hashed

/// 0 when an element may have padding, which is no part of its value.
std::uint32_t bytes_without_padding(const value_type& element) {
    const bool is_one = element.what != value_type::kind::structure &&
                        element.what != value_type::kind::array &&
                        element.what != value_type::kind::text;
    return is_one ? element.bytes : 0;
}

void describe(const value_type& as, field_type& type) {
    using kind = field_type::kind;
    type.is_signed = as.is_signed;
    type.element = as.bytes;
    switch (as.what) {
    case value_type::kind::boolean:
    case value_type::kind::number:
        if (as.bytes <= widest_number) type.what = kind::number;
        break;
    case value_type::kind::floating:
        type.what = kind::floating;
        break;
    case value_type::kind::fixed_text:
        type.what = as.bytes % 8 == 0 ? kind::fixed_text : kind::not_described;
        break;
    case value_type::kind::text:
        type.what = kind::text;
        break;
    case value_type::kind::vector:
        type.what = kind::vector;
        type.element = bytes_without_padding(as.element());
        break;
    case value_type::kind::array: {
        const auto element = as.element().what;
        const bool is_numbers =
            element == value_type::kind::number || element == value_type::kind::boolean;
        if (!is_numbers || as.element().bytes > widest_number) break;
        type.what = kind::numbers;
        type.is_signed = as.element().is_signed;
        type.element = as.element().bytes;
        break;
    }
    case value_type::kind::structure:
    case value_type::kind::opaque:
        break;
    }
}

} // namespace

field_type field_type::of(const type_schema::field& field, std::uint32_t value_bytes) {
    field_type type;
    type.offset = field.offset;
    type.bytes = field.bytes;
    const auto as = value_type::named(field.type);
    if (as) describe(*as, type);
    const bool has_length = type.what == kind::fixed_text || type.what == kind::numbers;
    if (has_length && as->bytes != field.bytes) type.what = kind::not_described;
    const std::uint64_t end = std::uint64_t{field.offset} + field.bytes;
    const bool is_whole =
        type.what == kind::number || type.what == kind::floating || type.what == kind::text;
    const bool is_no_handle = type.what == kind::vector && field.bytes != 8;
    if (end > value_bytes || (is_whole && type.element != field.bytes) || is_no_handle)
        throw damaged_error(fmt::format("field {}: {} of {} bytes at offset {} is not within an "
                                        "object of {} bytes",
                                        field.name, field.type, field.bytes, field.offset,
                                        value_bytes));
    return type;
}

} // namespace chainbase::rows
