#pragma once

#include <chainbase/fixed_string.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace chainbase::swap {

/// An amount of a token as an integer: {536, 4, "EOS"} is 0.0536 EOS. Comparable with another only
/// if decimals and symbol are the same.
struct asset {
    std::int64_t amount = 0; // in units of 10^-decimals
    std::uint8_t decimals = 0;
    fixed_string<8> symbol;

    friend bool operator==(const asset&, const asset&) = default;
};
BOOST_DESCRIBE_STRUCT(asset, (), (amount, decimals, symbol))

/// Whether two assets are of the same token.
[[nodiscard]] bool same_token(const asset& a, const asset& b) noexcept;

/// Reads "0.0536 EOS": digits, with decimals a point and at most 18 of them, one space, a symbol of
/// 1 to 7 capital letters. Nothing when the text is anything else or the amount exceeds 2^63 - 1.
[[nodiscard]] std::optional<asset> parse_asset(std::string_view text);

/// The inverse of parse_asset.
[[nodiscard]] std::string to_string(const asset& value);

} // namespace chainbase::swap
