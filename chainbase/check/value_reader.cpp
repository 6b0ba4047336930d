#include <chainbase/check/value_reader.hpp>
#include <pool_allocator/error.hpp>

#include <boost/lexical_cast/try_lexical_convert.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace chainbase::check {

namespace {

std::optional<std::uint32_t> number_in(std::string_view text) {
    std::uint32_t number = 0;
    if (text.empty() || text.front() == '-') return std::nullopt;
    if (!boost::conversion::try_lexical_convert(text.data(), text.size(), number))
        return std::nullopt;
    return number;
}

/// What stands between `begin` and `end`, if the text has both.
std::optional<std::string_view> within(std::string_view text, std::string_view begin, char end) {
    if (!text.starts_with(begin) || text.size() <= begin.size() || text.back() != end)
        return std::nullopt;
    return text.substr(begin.size(), text.size() - begin.size() - 1);
}

/// "u32", "i64", "bool", "id": bytes, and whether it has a sign.
struct number_type {
    std::uint32_t bytes;
    bool is_signed;
};
std::optional<number_type> number_type_of(std::string_view name) {
    if (name == "bool") return number_type{1, false};
    if (name == "id") return number_type{4, false};
    if (name.empty() || (name.front() != 'u' && name.front() != 'i')) return std::nullopt;
    const auto bits = number_in(name.substr(1));
    if (!bits || (*bits != 8 && *bits != 16 && *bits != 32 && *bits != 64)) return std::nullopt;
    return number_type{*bits / 8, name.front() == 'i'};
}

/// "u64[4]"
void read_array(std::string_view name, field_type& type) {
    const auto bracket = name.rfind('[');
    if (bracket == std::string_view::npos) return;
    const auto element = number_type_of(name.substr(0, bracket));
    const auto count = within(name.substr(bracket), "[", ']');
    if (!element || !count || number_in(*count) != type.bytes / element->bytes) return;
    type.what = field_type::kind::numbers;
    type.is_signed = element->is_signed;
    type.element = element->bytes;
}

/// The bytes of an element that has no padding to be guessed; 0 when it may have.
std::uint32_t element_bytes(std::string_view name) {
    if (const auto number = number_type_of(name)) return number->bytes;
    if (const auto length = within(name, "fixed_string<", '>'))
        return number_in(*length).value_or(0);
    if (const auto length = within(name, "bytes<", '>')) return number_in(*length).value_or(0);
    return name == "f32" ? 4 : name == "f64" ? 8 : 0;
}

void read_type(std::string_view name, field_type& type) {
    using kind = field_type::kind;
    if (const auto number = number_type_of(name)) {
        type.what = kind::number;
        type.is_signed = number->is_signed;
        type.element = number->bytes;
    } else if (name == "f32" || name == "f64") {
        type.what = kind::floating;
        type.element = name == "f32" ? 4 : 8;
    } else if (const auto length = within(name, "fixed_string<", '>')) {
        if (type.bytes % 8 != 0 || number_in(*length) != type.bytes) return;
        type.what = kind::fixed_text;
        type.element = type.bytes;
    } else if (name == "shared_string") {
        type.what = kind::text;
        type.element = 8;
    } else if (const auto inner = within(name, "shared_vector<", '>')) {
        type.what = kind::vector;
        type.element = element_bytes(*inner);
    } else {
        read_array(name, type);
    }
}

/// As the program's integers converted to 64 bits.
std::uint64_t load(const std::byte* from, std::uint32_t bytes, bool is_signed) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, from, bytes);
    const unsigned shift = 64 - 8 * bytes;
    return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << shift) >> shift)
                     : bits;
}

std::strong_ordering compare_numbers(const field_type& type, const std::byte* a,
                                     const std::byte* b) noexcept {
    const std::uint64_t x = load(a, type.element, type.is_signed);
    const std::uint64_t y = load(b, type.element, type.is_signed);
    return type.is_signed ? static_cast<std::int64_t>(x) <=> static_cast<std::int64_t>(y) : x <=> y;
}

template <typename Float>
std::optional<std::strong_ordering> compare_floats(const std::byte* a, const std::byte* b) {
    const auto order = copy_at<Float>(a) <=> copy_at<Float>(b);
    if (order == std::partial_ordering::unordered) return std::nullopt;
    return order < 0   ? std::strong_ordering::less
           : order > 0 ? std::strong_ordering::greater
                       : std::strong_ordering::equal;
}

} // namespace

field_type field_type::of(const type_schema::field& field, std::uint32_t value_bytes) {
    field_type type;
    type.offset = field.offset;
    type.bytes = field.bytes;
    read_type(field.type, type);
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

key_reader::key_reader(const type_schema& schema, const type_schema::key& key,
                       const buffer_check& buffers)
    : buffers_(buffers) {
    for (const type_schema::part& one : key.parts) {
        const auto field = std::find_if(schema.fields.begin(), schema.fields.end(),
                                        [&](const auto& f) { return f.name == one.field; });
        if (field == schema.fields.end()) {
            if (one.field != "function")
                throw damaged_error("key " + key.name + ": part " + one.field + " is no field");
            why_no_order_ = "part " + std::to_string(parts_.size()) + " is computed by a function";
            break;
        }
        const field_type type = field_type::of(*field, schema.value_bytes);
        if (type.what == field_type::kind::not_described || type.what == field_type::kind::vector) {
            why_no_order_ = "part " + one.field + " is of type " + field->type;
            break;
        }
        const bool has_hash =
            type.what != field_type::kind::floating && type.what != field_type::kind::numbers;
        if (!has_hash) why_no_hash_ = "part " + one.field + " is of type " + field->type;
        parts_.push_back({type, one.descending});
    }
    if (!why_no_order_.empty()) why_no_hash_ = why_no_order_;
}

std::optional<std::string_view> key_reader::text_of(const std::byte* handle) const {
    const auto content = buffers_.content({copy_at<std::uint64_t>(handle)});
    if (!content) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(content->data()), content->size());
}

std::optional<std::strong_ordering>
key_reader::compare_part(const field_type& type, const std::byte* a, const std::byte* b) const {
    switch (type.what) {
    case field_type::kind::number:
        return compare_numbers(type, a, b);
    case field_type::kind::numbers:
        for (std::uint32_t at = 0; at < type.bytes; at += type.element)
            if (const auto order = compare_numbers(type, a + at, b + at); order != 0) return order;
        return std::strong_ordering::equal;
    case field_type::kind::floating:
        return type.element == 4 ? compare_floats<float>(a, b) : compare_floats<double>(a, b);
    case field_type::kind::fixed_text:
        return std::memcmp(a, b, type.bytes) <=> 0;
    case field_type::kind::text: {
        const auto x = text_of(a);
        const auto y = text_of(b);
        if (!x || !y) return std::nullopt;
        return *x <=> *y;
    }
    default:
        return std::nullopt;
    }
}

std::optional<std::strong_ordering> key_reader::compare(const std::byte* a,
                                                        const std::byte* b) const {
    for (const part& one : parts_) {
        const auto order = compare_part(one.type, a + one.type.offset, b + one.type.offset);
        if (!order) return std::nullopt;
        if (*order != 0) return one.is_descending ? 0 <=> *order : *order;
    }
    if (!why_no_order_.empty()) return std::nullopt;
    return std::strong_ordering::equal;
}

std::optional<std::uint32_t> key_reader::hash(const std::byte* object) const {
    if (!why_no_hash_.empty()) return std::nullopt;
    std::uint64_t h = 0;
    for (const part& one : parts_) {
        const std::byte* at = object + one.type.offset;
        if (one.type.what == field_type::kind::number) {
            h = detail::hash_of(load(at, one.type.element, one.type.is_signed), h);
        } else if (one.type.what == field_type::kind::fixed_text) {
            for (std::uint32_t i = 0; i < one.type.bytes; i += 8) // as hash_of a fixed_string
                h = detail::mix(copy_at<std::uint64_t>(at + i) ^ h * 0x9E37'79B9'7F4A'7C15U);
        } else {
            const auto text = text_of(at);
            if (!text) return std::nullopt;
            h = detail::hash_of(*text, h);
        }
    }
    return static_cast<std::uint32_t>(h >> 32);
}

} // namespace chainbase::check
