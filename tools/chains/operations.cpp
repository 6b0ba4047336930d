#include <pool_allocator/base/decimal.hpp>
#include <tools/chains/codec.hpp>
#include <tools/chains/operations.hpp>

#include <algorithm>
#include <charconv>

namespace chainbase::payments {

bytes encode(const operation& value) {
    return codec::encode(value);
}

operation decode_operation(byte_view encoded) {
    return codec::decode<operation>(encoded, "payments operation");
}

} // namespace chainbase::payments

namespace chainbase::social {

bytes encode(const operation& value) {
    return codec::encode(value);
}

operation decode_operation(byte_view encoded) {
    return codec::decode<operation>(encoded, "social operation");
}

} // namespace chainbase::social

namespace chainbase::swap {

bytes encode(const operation& value) {
    return codec::encode(value);
}

operation decode_operation(byte_view encoded) {
    return codec::decode<operation>(encoded, "swap operation");
}

namespace {

constexpr std::size_t max_decimals = 18;
constexpr std::size_t max_symbol_letters = 7;

bool is_symbol(std::string_view text) {
    return !text.empty() && text.size() <= max_symbol_letters &&
           std::ranges::all_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::optional<std::int64_t> parse_digits(const std::string& digits) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) return {};
    return value;
}

} // namespace

bool same_token(const asset& a, const asset& b) noexcept {
    return a.decimals == b.decimals && a.symbol == b.symbol;
}

std::optional<asset> parse_asset(std::string_view text) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || !is_symbol(text.substr(space + 1))) return {};
    const std::string_view number = text.substr(0, space);
    const std::size_t point = number.find('.');
    const std::string_view whole = number.substr(0, point);
    const std::string_view part =
        point == std::string_view::npos ? std::string_view() : number.substr(point + 1);
    const bool part_is_fine = point == std::string_view::npos || is_digits(part);
    if (!is_digits(whole) || !part_is_fine || part.size() > max_decimals) return {};
    const auto amount = parse_digits(std::string(whole) + std::string(part));
    if (!amount) return {};
    return asset{*amount, static_cast<std::uint8_t>(part.size()), text.substr(space + 1)};
}

std::string to_string(const asset& value) {
    std::string digits = std::to_string(value.amount);
    if (digits.size() <= value.decimals) digits.insert(0, value.decimals + 1 - digits.size(), '0');
    if (value.decimals > 0) digits.insert(digits.size() - value.decimals, 1, '.');
    return digits + " " + std::string(value.symbol.view());
}

} // namespace chainbase::swap
