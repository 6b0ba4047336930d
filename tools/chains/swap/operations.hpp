#pragma once

#include <chainbase/fixed_string.hpp>
#include <tools/block_log/bytes.hpp>

#include <boost/describe/class.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

/// The operations of the swap chain.
namespace chainbase::swap {

/// An amount of a token as an integer: {536, 4, "EOS"} is 0.0536 EOS. Comparable only if decimals
/// and symbol are equal.
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

/// The chain's name in block logs.
inline constexpr std::string_view chain_name = "eos-swap-2022";

using owner_name = fixed_string<16>;

/// One exchange with a pair of tokens, as the contract logged it.
struct swap {
    owner_name owner;
    std::uint32_t pair_id = 0;
    asset quantity_in;
    asset quantity_out;
    asset fee; // as logged; no rule reads it
    /// What the pair holds **after** the swap. Either may be the token that came in.
    asset reserve0;
    asset reserve1;

    friend bool operator==(const swap&, const swap&) = default;
};
BOOST_DESCRIBE_STRUCT(swap, (),
                      (owner, pair_id, quantity_in, quantity_out, fee, reserve0, reserve1))

/// Add new kinds at the end: a log stores the index.
using operation = std::variant<swap>;

/// As bytes for the block log; equal operations give equal bytes.
[[nodiscard]] bytes encode(const operation& value);

/// The inverse of encode; throws damaged_error with the byte offset when it is anything else.
[[nodiscard]] operation decode_operation(byte_view encoded);

} // namespace chainbase::swap
