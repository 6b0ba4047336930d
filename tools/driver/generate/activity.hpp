#pragma once

#include <chainbase/fixed_string.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/driver/generate/distribution.hpp>
#include <tools/driver/generate/mix.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::generate {

/// Draws an active account: each rank has its weight from a measured distribution. O(1) a draw
/// (Vose's alias method on integers), 8 bytes an account.
class activity {
public:
    /// Of `accounts`, a share of `active_per_100_000` has the weights of `points`, the others
    /// weight 0. `skew_milli` mixes that with equal weights: 1000 as measured, 0 uniform. Requires
    /// an account.
    activity(std::uint32_t accounts, std::uint32_t active_per_100_000,
             const quantile_points& points, std::uint32_t skew_milli);

    /// The number of an account. Accounts above the initial number are `newcomers`: the same share
    /// of them is active, earlier ones more.
    [[nodiscard]] std::uint32_t draw(random_numbers& random, std::uint64_t newcomers = 0) const;

private:
    struct column {
        std::uint32_t keep;  ///< of 2^32: probability of the column itself
        std::uint32_t other; ///< drawn otherwise
    };
    [[nodiscard]] std::uint32_t account_of(std::uint64_t rank) const noexcept;
    void fill(std::vector<std::uint64_t> weights);

    std::vector<column> columns_;
    std::uint64_t active_per_100_000_; ///< of the newcomers
    bool is_skewed_;
    std::uint64_t stride_; ///< coprime to the number of accounts
};

/// Texts of a generated chain. Their lengths are realistic; the words are made up and compress
/// about as well as real ones.

/// Above any chain here; names are unique up to it.
inline constexpr std::uint32_t max_accounts = 50'000'000;

/// The name of the n-th account: 8 to 13 letters, unique below max_accounts.
[[nodiscard]] fixed_string<16> name_of_account(std::uint32_t n);

/// A permlink of about `size` bytes (at least the length of `serial`, its number).
[[nodiscard]] std::string permlink(std::uint64_t serial, std::int64_t size, random_numbers& random);

/// An application's custom operation: up to 32 bytes of name, and text of 60 to 200 bytes with some
/// repeated and some random characters.
struct custom_content {
    std::string id;
    bytes payload;
};
[[nodiscard]] custom_content custom(random_numbers& random);

/// Usually empty, sometimes a line.
[[nodiscard]] std::string memo(random_numbers& random);

} // namespace chainbase::generate
