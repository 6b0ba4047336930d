#include <archive/record/integers.hpp>
#include <tools/sink/postgres/binary.hpp>
#include <tools/sink/table/layout.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

// The binary forms are those of the functions *_send and *_recv of PostgreSQL; numbers are stored
// most significant byte first.
namespace chainbase::sink::postgres {

namespace {

using archive::byte_buffer;
using archive::bytes_view;

struct numbers {
    type_number scalar;
    type_number array;
    std::size_t width;
};

numbers numbers_of(column_kind kind) noexcept {
    switch (kind) {
    case column_kind::boolean:
        return {16, 1000, 1};
    case column_kind::small:
        return {21, 1005, 2};
    case column_kind::integer:
        return {23, 1007, 4};
    case column_kind::big:
        return {20, 1016, 8};
    case column_kind::numeric:
        return {1700, 1231, 0};
    case column_kind::real32:
        return {700, 1021, 4};
    case column_kind::real64:
        return {701, 1022, 8};
    case column_kind::bytes:
        return {17, 1001, 0};
    case column_kind::json:
        return {114, 199, 0};
    default:
        return {25, 1009, 0};
    }
}

constexpr std::int32_t length_of_null = -1;

template <typename Integer>
void append_number(byte_buffer& to, Integer number) {
    std::array<std::byte, sizeof number> bytes;
    archive::detail::store_big(bytes.data(), number);
    to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Length and number in one step: most values of a batch are such.
template <typename Integer>
void append_counted(byte_buffer& to, Integer number) {
    std::array<std::byte, sizeof(std::int32_t) + sizeof number> bytes;
    std::byte* const at =
        archive::detail::store_big(bytes.data(), static_cast<std::int32_t>(sizeof number));
    archive::detail::store_big(at, number);
    to.insert(to.end(), bytes.begin(), bytes.end());
}

void append_bytes(byte_buffer& to, bytes_view bytes) {
    append_number(to, static_cast<std::int32_t>(bytes.size()));
    archive::append(to, bytes);
}

/// Decimal digits by fours, as numeric has them.
constexpr unsigned base = 10'000;
constexpr std::size_t most_digits = 10; ///< of 128 bits
constexpr std::uint16_t negative = 0x4000;
constexpr std::size_t numeric_header = 8;

/// Header: how many digits, the weight of the first, sign, decimals to show.
void append_numeric(byte_buffer& to, const value& from) {
    std::array<std::uint16_t, most_digits> digits; // the least significant one first
    std::size_t count = 0;
    unsigned __int128 left = from.magnitude;
    for (; left > UINT64_MAX; left /= base)
        digits[count++] = static_cast<std::uint16_t>(left % base);
    for (auto low = static_cast<std::uint64_t>(left); low != 0; low /= base)
        digits[count++] = static_cast<std::uint16_t>(low % base);
    const std::size_t weight = count == 0 ? 0 : count - 1;
    std::size_t zeros = 0; // at the end they are left out
    while (zeros < count && digits[zeros] == 0)
        ++zeros;
    append_number(to, static_cast<std::int32_t>(numeric_header + 2 * (count - zeros)));
    append_number(to, static_cast<std::uint16_t>(count - zeros));
    append_number(to, static_cast<std::int16_t>(weight));
    append_number(to, static_cast<std::uint16_t>(from.is_negative && count != 0 ? negative : 0));
    append_number(to, std::uint16_t{0});
    for (std::size_t at = count; at != zeros; --at)
        append_number(to, digits[at - 1]);
}

/// Dimensions (none if it is empty), whether there are nulls, type of the elements; of the
/// dimension its length, and the number of the first element.
constexpr std::size_t array_header = 20;
constexpr std::size_t empty_array = 12;

void append_list(byte_buffer& to, column_kind kind, const value& from) {
    const std::size_t begin = to.size();
    append_number(to, std::int32_t{0}); // the length, known below
    append_number(to, std::int32_t{from.count != 0});
    append_number(to, std::int32_t{0});
    append_number(to, type_of(kind));
    if (from.count != 0) {
        append_number(to, static_cast<std::int32_t>(from.count));
        append_number(to, std::int32_t{1});
    }
    for (std::size_t i = 0; i < from.count; ++i)
        append_scalar(to, kind, from.elements[i]);
    archive::detail::store_big(to.data() + begin,
                               static_cast<std::int32_t>(to.size() - begin - sizeof(std::int32_t)));
}

template <typename Integer>
Integer number_at(const std::byte* bytes) {
    return archive::detail::load_big<Integer>(bytes);
}

void set_integer(value& to, std::int64_t number) {
    to.what = value::kind::integer;
    to.is_negative = number < 0;
    const auto bits = static_cast<std::uint64_t>(number);
    to.magnitude = number < 0 ? 0 - bits : bits;
}

/// `value * base + digit`, if it fits.
bool append_digit(unsigned __int128& value, unsigned digit) {
    constexpr auto all = ~static_cast<unsigned __int128>(0);
    if (value > (all - digit) / base) return false;
    value = value * base + digit;
    return true;
}

bool decode_numeric(bytes_view bytes, value& to) {
    if (bytes.size() < numeric_header) return false;
    const auto word = [&](std::size_t at) {
        return number_at<std::uint16_t>(bytes.data() + 2 * at);
    };
    const std::size_t count = word(0);
    const auto weight = static_cast<std::int16_t>(word(1));
    const std::uint16_t sign = word(2);
    if (bytes.size() != numeric_header + 2 * count || (sign != 0 && sign != negative)) return false;
    if (count != 0 && weight + 1 < static_cast<int>(count)) return false; // it has decimals
    to.what = value::kind::integer;
    to.is_negative = sign == negative && count != 0;
    to.magnitude = 0;
    for (int at = 0; count != 0 && at <= weight; ++at)
        if (!append_digit(to.magnitude, at < static_cast<int>(count)
                                            ? word(4 + static_cast<std::size_t>(at))
                                            : 0))
            return false;
    return true;
}

bool decode_scalar(column_kind kind, bytes_view bytes, value& to) {
    const std::size_t width = width_of(kind);
    if (width != 0 && bytes.size() != width) return false;
    switch (kind) {
    case column_kind::boolean:
        to.what = value::kind::boolean;
        to.magnitude = bytes[0] != std::byte{0} ? 1 : 0;
        return true;
    case column_kind::small:
        set_integer(to, number_at<std::int16_t>(bytes.data()));
        return true;
    case column_kind::integer:
        set_integer(to, number_at<std::int32_t>(bytes.data()));
        return true;
    case column_kind::big:
        set_integer(to, number_at<std::int64_t>(bytes.data()));
        return true;
    case column_kind::numeric:
        return decode_numeric(bytes, to);
    case column_kind::real32:
        to.what = value::kind::real;
        to.real = widened(number_at<std::uint32_t>(bytes.data()));
        return true;
    case column_kind::real64:
        to.what = value::kind::real;
        to.real = std::bit_cast<double>(number_at<std::uint64_t>(bytes.data()));
        return true;
    case column_kind::bytes:
        to.what = value::kind::bytes;
        to.bytes = bytes;
        return true;
    default:
        to.what = value::kind::text;
        to.text = archive::as_text(bytes);
        return true;
    }
}

bool decode_list(column_kind kind, bytes_view bytes, value& to) {
    to.what = value::kind::list;
    to.count = 0;
    if (bytes.size() < empty_array || number_at<type_number>(bytes.data() + 8) != type_of(kind))
        return false;
    const auto dimensions = number_at<std::int32_t>(bytes.data());
    if (dimensions == 0) return bytes.size() == empty_array;
    if (dimensions != 1 || bytes.size() < array_header) return false;
    const auto count = number_at<std::uint32_t>(bytes.data() + empty_array);
    bytes = bytes.subspan(array_header);
    if (count > bytes.size()) return false;
    if (to.elements.size() < count) to.elements.resize(count);
    for (value& one : std::span(to.elements).first(count)) {
        if (bytes.size() < sizeof(std::int32_t)) return false;
        const auto length = number_at<std::int32_t>(bytes.data());
        bytes = bytes.subspan(sizeof(std::int32_t));
        if (length < 0 || static_cast<std::size_t>(length) > bytes.size()) return false;
        const auto size = static_cast<std::size_t>(length);
        if (!decode_scalar(kind, bytes.first(size), one)) return false;
        bytes = bytes.subspan(size);
    }
    to.count = count;
    return bytes.empty();
}

} // namespace

type_number type_of(column_kind kind) noexcept {
    return numbers_of(kind).scalar;
}
type_number array_of(column_kind kind) noexcept {
    return numbers_of(kind).array;
}
type_number type_of(const column& of) noexcept {
    return of.kind == column_kind::list ? array_of(of.of) : type_of(of.kind);
}
std::size_t width_of(column_kind kind) noexcept {
    return numbers_of(kind).width;
}

void append_scalar(byte_buffer& to, column_kind kind, const value& from) {
    if (from.what == value::kind::null) return append_number(to, length_of_null);
    switch (kind) {
    case column_kind::boolean:
        return append_counted(to, static_cast<std::uint8_t>(from.magnitude != 0));
    case column_kind::small:
        return append_counted(to, static_cast<std::int16_t>(from.as_int64()));
    case column_kind::integer:
        return append_counted(to, static_cast<std::int32_t>(from.as_int64()));
    case column_kind::big:
        return append_counted(to, from.as_int64());
    case column_kind::numeric:
        return append_numeric(to, from);
    case column_kind::real32:
        return append_counted(to, narrowed(from.real));
    case column_kind::real64:
        return append_counted(to, std::bit_cast<std::uint64_t>(from.real));
    case column_kind::bytes:
        return append_bytes(to, from.bytes);
    default:
        return append_bytes(to, archive::as_bytes(from.text));
    }
}

void append_value(byte_buffer& to, const column& of, const value& from) {
    if (of.kind == column_kind::list) return append_list(to, of.of, from);
    append_scalar(to, of.kind, from);
}

std::string text_of_list(column_kind kind, const value& from) {
    std::string text = "{";
    for (std::size_t i = 0; i < from.count; ++i) {
        if (i != 0) text += ',';
        const value& one = from.elements[i];
        text += kind == column_kind::boolean ? (one.magnitude != 0 ? "t" : "f") : one.digits();
    }
    return text + "}";
}

std::string decode(const column& of, const std::byte* bytes, std::size_t size, bool is_null,
                   value& to) {
    if (is_null) {
        to.what = value::kind::null;
        return of.is_nullable ? std::string() : "it is NULL";
    }
    const bytes_view all(bytes, size);
    const bool is_known = of.kind == column_kind::list ? decode_list(of.of, all, to)
                                                       : decode_scalar(of.kind, all, to);
    return is_known ? std::string() : "its value is none that the sink writes";
}

void array_parameter::clear() {
    bytes_.resize(array_header);
    count_ = 0;
    has_nulls_ = false;
}

void array_parameter::add(const value& one) {
    append_scalar(bytes_, kind_, one);
    has_nulls_ |= one.what == value::kind::null;
    ++count_;
}

void array_parameter::add_number(std::int64_t number) {
    append_counted(bytes_, number);
    ++count_;
}

void array_parameter::add_text(std::string_view text) {
    append_bytes(bytes_, archive::as_bytes(text));
    ++count_;
}

void array_parameter::add_null() {
    append_number(bytes_, length_of_null);
    has_nulls_ = true;
    ++count_;
}

void array_parameter::add_elements(const value& list) {
    for (std::size_t i = 0; i < list.count; ++i)
        append_scalar(bytes_, kind_, list.elements[i]);
    count_ += list.count;
}

bytes_view array_parameter::bytes() {
    std::byte* at = bytes_.data();
    at = archive::detail::store_big(at, std::int32_t{count_ != 0});
    at = archive::detail::store_big(at, std::int32_t{has_nulls_});
    at = archive::detail::store_big(at, type_of(kind_));
    at = archive::detail::store_big(at, static_cast<std::int32_t>(count_));
    archive::detail::store_big(at, std::int32_t{1});
    return bytes_view(bytes_).first(count_ == 0 ? empty_array : bytes_.size());
}

} // namespace chainbase::sink::postgres
