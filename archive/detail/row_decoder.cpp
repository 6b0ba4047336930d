#include <archive/detail/integers.hpp>
#include <archive/detail/row_decoder.hpp>
#include <chainbase/rows/mapped_bytes.hpp>

#include <fmt/format.h>

#include <cstring>
#include <span>

namespace chainbase::archive::detail {

namespace {

using kind = rows::field_type::kind;

/// The bytes of a field in a record; nothing when the record ends before.
std::optional<bytes_view> take(bytes_view& from, std::size_t bytes) {
    if (from.size() < bytes) return std::nullopt;
    const bytes_view taken = from.first(bytes);
    from = from.subspan(bytes);
    return taken;
}

void append_length(byte_buffer& to, std::size_t length) {
    const std::size_t at = to.size();
    to.resize(at + sizeof(std::uint32_t));
    store_little(to.data() + at, static_cast<std::uint32_t>(length));
}

} // namespace

row_decoder::row_decoder(const type_schema& schema, const rows::buffer_source& buffers)
    : buffers_(buffers) {
    for (const type_schema::field& one : schema.fields) {
        const rows::field_type type = rows::field_type::of(one, schema.value_bytes);
        const bool is_known = type.what != kind::not_described && type.what != kind::floating &&
                              (type.what != kind::vector || type.element != 0);
        if (!is_known && why_not_.empty())
            why_not_ = "field " + one.name + " is of type " + one.type;
        fields_.push_back({one.name, type, one.type == "bool"});
    }
}

std::string row_decoder::problem_of(bytes_view content, std::uint32_t id) const {
    if (!why_not_.empty()) return {};
    bytes_view left = content;
    for (const field& one : fields_) {
        const bool has_length = one.type.what == kind::fixed_text || one.type.what == kind::text ||
                                one.type.what == kind::vector;
        std::size_t bytes = one.type.bytes;
        if (has_length) {
            const auto count = take(left, sizeof(std::uint32_t));
            if (!count) return "ends before field " + one.name;
            bytes = load_little<std::uint32_t>(count->data());
            if (one.type.what == kind::fixed_text && bytes > one.type.bytes)
                return fmt::format("field {}: {} bytes do not fit {}", one.name, bytes,
                                   one.type.bytes);
            if (one.type.what == kind::vector) bytes *= one.type.element;
        }
        const auto value = take(left, bytes);
        if (!value) return "ends within field " + one.name;
        if (one.is_bool && value->front() > std::byte{1})
            return fmt::format("field {}: no bool", one.name);
        if (&one == &fields_.front() && load_little<std::uint32_t>(value->data()) != id)
            return fmt::format("holds object {}", load_little<std::uint32_t>(value->data()));
    }
    return left.empty() ? std::string() : fmt::format("{} bytes too many", left.size());
}

bool row_decoder::append(const field& of, const std::byte* object, byte_buffer& to) const {
    const std::byte* at = object + of.type.offset;
    std::span<const std::byte> bytes(at, of.type.bytes);
    if (of.type.what == kind::fixed_text) {
        bytes = bytes.first(strnlen(reinterpret_cast<const char*>(at), of.type.bytes));
        append_length(to, bytes.size());
    } else if (of.type.what == kind::text || of.type.what == kind::vector) {
        const auto content = buffers_.content({rows::copy_at<std::uint64_t>(at)});
        if (!content) return false;
        bytes = *content;
        append_length(to,
                      of.type.what == kind::text ? bytes.size() : bytes.size() / of.type.element);
    }
    to.insert(to.end(), bytes.begin(), bytes.end());
    return true;
}

std::optional<byte_buffer> row_decoder::encode(const std::byte* object) const {
    if (!why_not_.empty()) return std::nullopt;
    byte_buffer content;
    for (const field& one : fields_)
        if (!append(one, object, content)) return std::nullopt;
    return content;
}

} // namespace chainbase::archive::detail
