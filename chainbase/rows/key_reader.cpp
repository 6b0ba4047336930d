#include <chainbase/rows/key_reader.hpp>
#include <chainbase/rows/mapped_bytes.hpp>
#include <pool_allocator/error.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

namespace chainbase::rows {

namespace {

std::strong_ordering compare_numbers(const field_type& type, const std::byte* a,
                                     const std::byte* b) noexcept {
    const std::uint64_t x = integer_at(a, type.element, type.is_signed);
    const std::uint64_t y = integer_at(b, type.element, type.is_signed);
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

key_reader::key_reader(const type_schema& schema, const type_schema::key& key,
                       const buffer_source& buffers)
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

std::optional<std::strong_ordering> key_reader::compare(const std::byte* a, const std::byte* b,
                                                        std::size_t leading) const {
    for (const part& one : std::span(parts_).first(std::min(leading, parts_.size()))) {
        const auto order = compare_part(one.type, a + one.type.offset, b + one.type.offset);
        if (!order) return std::nullopt;
        if (*order != 0) return one.is_descending ? 0 <=> *order : *order;
    }
    if (leading > parts_.size() && !why_no_order_.empty()) return std::nullopt;
    return std::strong_ordering::equal;
}

std::optional<std::uint32_t> key_reader::hash(const std::byte* object) const {
    if (!why_no_hash_.empty()) return std::nullopt;
    std::uint64_t h = 0;
    for (const part& one : parts_) {
        const std::byte* at = object + one.type.offset;
        if (one.type.what == field_type::kind::number) {
            h = chainbase::detail::hash_of(integer_at(at, one.type.element, one.type.is_signed), h);
        } else if (one.type.what == field_type::kind::fixed_text) {
            for (std::uint32_t i = 0; i < one.type.bytes; i += 8) // as hash_of a fixed_string
                h = chainbase::detail::mix(copy_at<std::uint64_t>(at + i) ^
                                           h * 0x9E37'79B9'7F4A'7C15U);
        } else {
            const auto text = text_of(at);
            if (!text) return std::nullopt;
            h = chainbase::detail::hash_of(*text, h);
        }
    }
    return static_cast<std::uint32_t>(h >> 32);
}

} // namespace chainbase::rows
