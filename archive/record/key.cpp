#include <archive/record/key.hpp>
#include <chainbase/keys.hpp>
#include <chainbase/object/key_reader.hpp>
#include <chainbase/object/mapped_bytes.hpp>

#include <array>
#include <cstring>

namespace chainbase::archive {

std::uint64_t hash_of(bytes_view bytes, std::uint64_t seed) noexcept {
    return chainbase::detail::hash_of_bytes(as_text(bytes), seed);
}

namespace detail {

namespace {

using rows::value_type;

template <typename Signed, typename Unsigned>
void append_number(byte_buffer& to, bool is_signed, const std::byte* at) {
    is_signed ? append_part(to, rows::copy_at<Signed>(at))
              : append_part(to, rows::copy_at<Unsigned>(at));
}

void append_integer(byte_buffer& to, const value_type& type, const std::byte* at) {
    switch (type.bytes) {
    case 1:
        return append_number<std::int8_t, std::uint8_t>(to, type.is_signed, at);
    case 2:
        return append_number<std::int16_t, std::uint16_t>(to, type.is_signed, at);
    case 4:
        return append_number<std::int32_t, std::uint32_t>(to, type.is_signed, at);
    case 8:
        return append_number<std::int64_t, std::uint64_t>(to, type.is_signed, at);
    default:
        return append_number<int128, uint128>(to, type.is_signed, at);
    }
}

/// Appends the value at `at` in an object whose texts are in `texts`.
bool append_value(byte_buffer& to, const value_type& type, const std::byte* at,
                  const rows::buffer_source& texts) {
    switch (type.what) {
    case value_type::kind::boolean:
    case value_type::kind::number:
        append_integer(to, type, at);
        return true;
    case value_type::kind::text:
        append_text(to, as_text(texts.content({rows::copy_at<std::uint64_t>(at)}).value()));
        return true;
    case value_type::kind::fixed_text: {
        const auto* text = reinterpret_cast<const char*>(at);
        append_text(to, {text, strnlen(text, type.bytes)});
        return true;
    }
    case value_type::kind::array: {
        const std::size_t each = type.element().bytes;
        for (std::size_t begin = 0; each != 0 && begin < type.bytes; begin += each)
            if (!append_value(to, type.element(), at + begin, texts)) return false;
        return true;
    }
    default:
        return false;
    }
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
        if (!append_value(key, part.type, part.value, wanted.buffers())) return std::nullopt;
        if (part.is_descending) complement(key, start);
    }
    return key;
}

} // namespace detail

} // namespace chainbase::archive
