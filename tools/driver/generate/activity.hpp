#pragma once

#include <chainbase/fixed_string.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/driver/generate/distribution.hpp>
#include <tools/driver/generate/mix.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::generate {

/// Who does something: draws an account with the weight that its rank in a measured distribution
/// gives it. O(1) a draw (Vose's alias method on whole numbers), 8 bytes an account.
class activity {
public:
    /// Of `accounts`, a share of `active_per_100_000` has the weights of `points`, the others none.
    /// `skew_milli` mixes that with the same weight for all: 1000 as measured, 0 uniform. Requires
    /// an account.
    activity(std::uint32_t accounts, std::uint32_t active_per_100_000,
             const quantile_points& points, std::uint32_t skew_milli);

    /// The number of an account. Those above the ones that it was made for are `newcomers`: as many
    /// of them are active, the earlier ones more.
    [[nodiscard]] std::uint32_t draw(random_numbers& random, std::uint64_t newcomers = 0) const;

private:
    struct column {
        std::uint32_t keep;  ///< of 2^32: how often the column means itself
        std::uint32_t other; ///< what it means else
    };
    [[nodiscard]] std::uint32_t account_of(std::uint64_t rank) const noexcept;
    void fill(std::vector<std::uint64_t> weights);

    std::vector<column> columns_;
    std::uint64_t active_per_100_000_; ///< of the newcomers
    bool is_skewed_;
    std::uint64_t stride_; ///< has no factor in common with the number of accounts
};

/// The texts of a generated chain. Their lengths are what counts; the words are made up, and pack
/// about as well as real ones do.

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
