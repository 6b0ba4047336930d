#include <archive/key.hpp>
#include <chainbase/keys.hpp>
#include <chainbase/rows/key_reader.hpp>
#include <chainbase/rows/mapped_bytes.hpp>

#include <array>

namespace chainbase::archive {

std::uint64_t hash_of(bytes_view bytes, std::uint64_t seed) noexcept {
    return chainbase::detail::hash_of_bytes(as_text(bytes), seed);
}

namespace detail {

namespace {

using part_kind = rows::field_type::kind;

template <typename Number>
void append_number(byte_buffer& to, const std::byte* at) {
    append_part(to, rows::copy_at<Number>(at));
}

void append_integer(byte_buffer& to, const rows::field_type& type, const std::byte* at) {
    switch (type.element) {
    case 1:
        return type.is_signed ? append_number<std::int8_t>(to, at)
                              : append_number<std::uint8_t>(to, at);
    case 2:
        return type.is_signed ? append_number<std::int16_t>(to, at)
                              : append_number<std::uint16_t>(to, at);
    case 4:
        return type.is_signed ? append_number<std::int32_t>(to, at)
                              : append_number<std::uint32_t>(to, at);
    default:
        return type.is_signed ? append_number<std::int64_t>(to, at)
                              : append_number<std::uint64_t>(to, at);
    }
}

bool append_value(byte_buffer& to, const rows::probe::part& part) {
    const bool is_bytes = part.type.element == 1 && !part.type.is_signed;
    if (part.type.what == part_kind::number)
        append_integer(to, part.type, part.value.data());
    else if (part.type.what == part_kind::text || part.type.what == part_kind::fixed_text)
        append_text(to, as_text(part.value));
    else if (part.type.what == part_kind::numbers && is_bytes)
        append(to, part.value);
    else
        return false;
    return true;
}

} // namespace

void append_text(byte_buffer& buffer, std::string_view text) {
    constexpr std::array escaped{std::byte{0}, std::byte{0xff}};
    constexpr std::array end{std::byte{0}, std::byte{1}};
    for (std::size_t zero; (zero = text.find('\0')) != text.npos; text.remove_prefix(zero + 1)) {
        append(buffer, as_bytes(text.substr(0, zero)));
        append(buffer, escaped);
    }
    append(buffer, as_bytes(text));
    append(buffer, end);
}

void complement(byte_buffer& buffer, std::size_t start) noexcept {
    for (std::size_t i = start; i < buffer.size(); ++i)
        buffer[i] = ~buffer[i];
}

std::optional<byte_buffer> key_of(const rows::probe& wanted) {
    byte_buffer key;
    for (std::size_t number = 0; number < wanted.parts(); ++number) {
        const std::size_t start = key.size();
        const rows::probe::part part = wanted.part_at(number);
        if (!append_value(key, part)) return std::nullopt;
        if (part.is_descending) complement(key, start);
    }
    return key;
}

} // namespace detail

} // namespace chainbase::archive
