#pragma once

#include <tools/driver/generate/distribution.hpp>
#include <tools/driver/generate/mix.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chainbase::generate {

/// Statistics of a log of the social chain, counted from its operations.
struct measures {
    std::uint64_t operations = 0;
    /// By kind, in the order of social::operation.
    std::array<std::uint64_t, operation_mix::kinds> operations_by_kind{};
    std::uint64_t accounts = 0;
    std::uint64_t posts = 0;
    std::uint64_t replies = 0;
    std::uint64_t paid_posts = 0; ///< posts with a cash-out time
    std::uint64_t paid_replies = 0;
    std::uint64_t authors = 0;
    std::uint64_t voters = 0;
    /// Sorted.
    std::array<std::vector<std::int64_t>, distribution_count> values;

    [[nodiscard]] const std::vector<std::int64_t>& of(distribution which) const {
        return values[static_cast<std::size_t>(which)];
    }
};

/// Reads a whole log. Counts a comment's descendants in the log; for steem-2016, which is a
/// selection, takes those that the data states. Throws usage_error when the log's chain is not
/// social, and what reading a log throws.
[[nodiscard]] measures measure(const std::filesystem::path& block_log);

/// The measures as a fit, from which other chains are drawn. Requires comments and votes.
[[nodiscard]] fitted_chain fit_of(const measures& of);

/// A distribution in the real data and in a log.
struct compared_distribution {
    distribution which;
    /// Votes or replies per comment and operations per account follow from the mix and the length
    /// of the log, so the real values are scaled to its mean.
    bool is_scaled = false;
    summary real;
    summary generated;
};
BOOST_DESCRIBE_STRUCT(compared_distribution, (), (is_scaled, real, generated))

struct comparison : chain_shares {
    std::vector<std::pair<std::string_view, compared_distribution>>
        distributions; ///< by identifier
    std::uint64_t operations = 0;
    std::vector<std::pair<std::string_view, std::uint64_t>> operations_by_kind;
};
BOOST_DESCRIBE_STRUCT(comparison, (),
                      (operations, operations_by_kind, reply_permille, paid_post_permille,
                       paid_reply_permille, author_per_100_000, voter_per_100_000, distributions))

/// Compares with steem_2016.fit.
[[nodiscard]] comparison compare(const measures& generated);

[[nodiscard]] std::string to_text(const comparison& one);

} // namespace chainbase::generate
