#include <chainbase/rows/mapped_bytes.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/escaped.hpp>
#include <tools/inspect/rows/row_format.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

namespace chainbase::inspect {

namespace {

template <typename Float>
void append_one(std::string& to, const std::byte* at) {
    const auto value = rows::copy_at<Float>(at);
    const char* const quote = std::isfinite(value) ? "" : "\"";
    fmt::format_to(std::back_inserter(to), "{0}{1}{0}", quote, value);
}

using kind = rows::value_type::kind;
using bytes_view = std::span<const std::byte>;

/// Appends values, whatever is within them; `is_whole` becomes false where there is none.
struct value_writer {
    std::string& to;
    const rows::buffer_source& buffers;
    bool is_whole = true;

    void append(const rows::value_type& type, const std::byte* at) {
        switch (type.what) {
        case kind::boolean:
            to += *at == std::byte{0} ? "false" : "true";
            break;
        case kind::number:
            append_number(to, type, at);
            break;
        case kind::floating:
            append_float(to, type, at);
            break;
        case kind::fixed_text: {
            const auto* text = reinterpret_cast<const char*>(at);
            append_text(to, {text, strnlen(text, type.bytes)});
            break;
        }
        case kind::text: {
            const bytes_view text = content(at);
            append_text(to, {reinterpret_cast<const char*>(text.data()), text.size()});
            break;
        }
        case kind::vector:
            append_all(type, content(at));
            break;
        case kind::array:
            append_all(type, {at, type.bytes});
            break;
        case kind::structure:
            append_structure(type, at);
            break;
        case kind::opaque:
            append_hex(to, {at, type.bytes});
            break;
        }
    }

    bytes_view content(const std::byte* handle) {
        const auto found = buffers.content({rows::copy_at<std::uint64_t>(handle)});
        is_whole = is_whole && found.has_value();
        return found.value_or(bytes_view());
    }

    /// The elements of a vector or an array.
    void append_all(const rows::value_type& type, bytes_view bytes) {
        const std::size_t each = type.element().bytes;
        if (type.is_bytes() || each == 0) return append_hex(to, bytes);
        is_whole = is_whole && bytes.size() % each == 0;
        to += '[';
        for (std::size_t at = 0; at + each <= bytes.size(); at += each) {
            if (at != 0) to += ',';
            append(type.element(), bytes.data() + at);
        }
        to += ']';
    }

    void append_structure(const rows::value_type& type, const std::byte* at) {
        char before = '{';
        for (const rows::value_type::member& member : type.members) {
            to += before;
            append_json_string(to, member.name);
            to += ':';
            append(member.type, at + member.offset);
            before = ',';
        }
        to += '}';
    }
};

} // namespace

void append_hex(std::string& to, std::span<const std::byte> bytes) {
    constexpr char digits[] = "0123456789abcdef";
    to += '"';
    for (const std::byte byte : bytes) {
        to += digits[std::to_integer<unsigned>(byte) >> 4];
        to += digits[std::to_integer<unsigned>(byte) & 15];
    }
    to += '"';
}

void append_text(std::string& to, std::string_view text) {
    if (is_utf8(text)) return append_json_string(to, text);
    to += R"({"hex":)";
    append_hex(to, std::as_bytes(std::span(text)));
    to += '}';
}

void append_number(std::string& to, const rows::value_type& type, const std::byte* at) {
    if (type.bytes == sizeof(__int128)) {
        const auto bits = rows::copy_at<unsigned __int128>(at);
        type.is_signed ? fmt::format_to(std::back_inserter(to), "{}", static_cast<__int128>(bits))
                       : fmt::format_to(std::back_inserter(to), "{}", bits);
        return;
    }
    const std::uint64_t bits = rows::integer_at(at, type.bytes, type.is_signed);
    const fmt::format_int digits =
        type.is_signed ? fmt::format_int(static_cast<std::int64_t>(bits)) : fmt::format_int(bits);
    to.append(digits.data(), digits.size());
}

void append_float(std::string& to, const rows::value_type& type, const std::byte* at) {
    type.bytes == sizeof(float) ? append_one<float>(to, at) : append_one<double>(to, at);
}

row_format::row_format(const type_schema& schema) : type_(schema.name) {
    for (const type_schema::field& one : schema.fields) {
        if (std::uint64_t{one.offset} + one.bytes > schema.value_bytes)
            throw damaged_error(fmt::format("{}: field {} is not within an object of {} bytes",
                                            schema.name, one.name, schema.value_bytes));
        std::string begin;
        append_json_string(begin, one.name);
        begin += ':';
        fields_.push_back(
            {one.name, std::move(begin), one.offset, rows::value_type::of(one.type, one.bytes)});
    }
}

void row_format::append(std::string& to, const field& of, const std::byte* object,
                        const rows::buffer_source& buffers) const {
    value_writer writer{to, buffers};
    writer.append(of.type, object + of.offset);
    if (!writer.is_whole)
        throw damaged_error(
            fmt::format("{} {}: field {} refers to no buffer; run chainbase-inspect "
                        "check",
                        type_, rows::copy_at<std::uint32_t>(object), of.name));
}

void row_format::append_json(std::string& to, const std::byte* object,
                             const rows::buffer_source& buffers) const {
    char before = '{';
    for (const field& one : fields_) {
        to += before;
        to += one.begin;
        append(to, one, object, buffers);
        before = ',';
    }
    to += '}';
}

std::vector<std::string> row_format::cells(const std::byte* object,
                                           const rows::buffer_source& buffers) const {
    std::vector<std::string> all;
    for (const field& one : fields_)
        append(all.emplace_back(), one, object, buffers);
    return cells_of(std::move(all));
}

std::string row_format::json_of(const std::vector<std::string>& values) const {
    std::string text;
    for (std::size_t number = 0; number < fields_.size(); ++number) {
        text += number == 0 ? '{' : ',';
        text += fields_[number].begin;
        text += values[number];
    }
    return text + '}';
}

std::vector<std::string> row_format::cells_of(std::vector<std::string> values) const {
    for (std::size_t number = 0; number < values.size(); ++number) {
        std::string& text = values[number];
        if (is_text(number) && text.starts_with('"')) text = text.substr(1, text.size() - 2);
    }
    return values;
}

bool row_format::is_text(std::size_t number) const noexcept {
    const kind what = fields_[number].type.what;
    return what == kind::fixed_text || what == kind::text;
}

std::vector<std::string> row_format::names() const {
    std::vector<std::string> all;
    for (const field& one : fields_)
        all.push_back(one.name);
    return all;
}

} // namespace chainbase::inspect
