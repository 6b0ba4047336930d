#pragma once

#include <chainbase/fixed_string.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/driver/generate/random_numbers.hpp>

#include <cstdint>
#include <string>

/// The texts of a generated chain. Their lengths are what counts; the words are made up, and pack
/// about as well as real ones do.
namespace chainbase::generate {

/// More accounts than a chain here has: names stay unique up to it.
inline constexpr std::uint32_t most_accounts = 50'000'000;

/// The name of the n-th account: 8 to 13 letters, a different one for each below most_accounts.
[[nodiscard]] fixed_string<16> name_of_account(std::uint32_t n);

/// A permlink of about `size` bytes (at least what `serial`, its own number, takes).
[[nodiscard]] std::string permlink(std::uint64_t serial, std::int64_t size, random_numbers& random);

/// What a wallet or a game writes for itself: up to 32 bytes of name, and text of 60 to 200 bytes
/// with some characters that repeat and some that do not.
struct custom_content {
    std::string id;
    bytes payload;
};
[[nodiscard]] custom_content custom(random_numbers& random);

/// Mostly nothing, at times a line.
[[nodiscard]] std::string memo(random_numbers& random);

} // namespace chainbase::generate
