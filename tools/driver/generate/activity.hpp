#pragma once

#include <tools/driver/generate/distribution.hpp>
#include <tools/driver/generate/random_numbers.hpp>

#include <cstdint>
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

} // namespace chainbase::generate
