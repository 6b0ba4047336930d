#include <tools/sink/table/layout.hpp>

#include <fmt/format.h>

namespace chainbase::sink {

using rows::value_type;
using kind = value_type::kind;

namespace {

bool is_sequence(const value_type& type) {
    return type.what == kind::vector || type.what == kind::array;
}

constexpr int fewer_bits = 52 - 23; ///< of the fraction
constexpr std::uint64_t double_exponent = 0x7FF0'0000'0000'0000;
constexpr std::uint32_t float_exponent = 0x7F80'0000;

} // namespace

bool is_all_bytes(const value_type& type) {
    return type.what == kind::opaque ||
           (is_sequence(type) && (type.is_bytes() || type.element().bytes == 0));
}

type_schema schema_of(const std::string& name, const value_type::member& field) {
    type_schema made;
    made.name = name;
    made.value_bytes = field.type.bytes;
    made.fields.push_back({field.name, name_of(field.type), 0, field.type.bytes});
    return made;
}

double widened(std::uint32_t bits) {
    const float value = std::bit_cast<float>(bits);
    if (!std::isnan(value)) return value;
    const std::uint64_t sign = std::uint64_t{bits >> 31} << 63;
    const std::uint64_t fraction = std::uint64_t{bits & 0x7F'FFFF} << fewer_bits;
    return std::bit_cast<double>(sign | double_exponent | fraction);
}

std::uint32_t narrowed(double value) {
    if (!std::isnan(value)) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto fraction = static_cast<std::uint32_t>(bits >> fewer_bits) & 0x7F'FFFF;
    return static_cast<std::uint32_t>(bits >> 63) << 31 | float_exponent | fraction;
}

} // namespace chainbase::sink
