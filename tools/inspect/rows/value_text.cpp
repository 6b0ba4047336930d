#include <chainbase/rows/mapped_bytes.hpp>
#include <tools/inspect/json_text.hpp>
#include <tools/inspect/rows/value_text.hpp>

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace chainbase::inspect {

namespace {

template <typename Float>
void append_one(std::string& to, const std::byte* at) {
    const auto value = rows::copy_at<Float>(at);
    const char* const quote = std::isfinite(value) ? "" : "\"";
    fmt::format_to(std::back_inserter(to), "{0}{1}{0}", quote, value);
}

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

} // namespace chainbase::inspect
