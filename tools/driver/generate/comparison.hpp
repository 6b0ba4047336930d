#pragma once

#include <tools/driver/generate/distribution.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::generate {

/// What a log of the social chain holds, counted from its operations.
struct measures {
    std::uint64_t operations = 0;
    /// By kind, in the order of social::operation.
    std::array<std::uint64_t, 7> operations_by_kind{};
    std::uint64_t accounts = 0;
    std::uint64_t posts = 0;
    std::uint64_t replies = 0;
    std::uint64_t paid_posts = 0; ///< that have a cash-out time
    std::uint64_t paid_replies = 0;
    std::uint64_t authors = 0;
    std::uint64_t voters = 0;
    /// Sorted.
    std::array<std::vector<std::int64_t>, distribution_count> values;

    [[nodiscard]] const std::vector<std::int64_t>& of(distribution which) const {
        return values[static_cast<std::size_t>(which)];
    }
};

/// In units of which `scale` are the whole; 0 of nothing.
[[nodiscard]] inline std::uint32_t share(std::uint64_t part, std::uint64_t of,
                                         std::uint64_t scale) noexcept {
    return of == 0 ? 0 : static_cast<std::uint32_t>(part * scale / of);
}

/// Reads a whole log. The descendants of a comment are those in the log, but in steem-2016, which
/// is a selection, those that the data states. Throws usage_error when the log is of a chain that
/// is not social, and what reading a log throws.
[[nodiscard]] measures measure(const std::filesystem::path& block_log);

/// What was measured, as the source text of a header that defines `steem_2016_fit`: how
/// steem_2016_fit.hpp was made, and can be made again. Requires comments and votes.
[[nodiscard]] std::string fit_header(const measures& of);

/// A distribution as the real data has it, and as a log has it.
struct compared_distribution {
    distribution which;
    /// How many votes or replies there are for a comment, or operations for an account, follows
    /// from the mix and the length of the log: there the real values are scaled to that mean.
    bool is_scaled = false;
    summary real;
    summary generated;
};

struct comparison {
    std::vector<compared_distribution> distributions;
    std::uint64_t operations = 0;
    std::array<std::uint64_t, 7> operations_by_kind{};
    std::uint32_t reply_permille = 0;      ///< of the comments
    std::uint32_t paid_post_permille = 0;  ///< of the posts
    std::uint32_t paid_reply_permille = 0; ///< of the replies
    std::uint32_t author_per_100_000 = 0;  ///< of the accounts
    std::uint32_t voter_per_100_000 = 0;   ///< of the accounts
};

/// With what steem_2016_fit.hpp says.
[[nodiscard]] comparison compare(const measures& generated);

[[nodiscard]] std::string to_text(const comparison& one);
/// One JSON object.
[[nodiscard]] std::string to_json(const comparison& one);

} // namespace chainbase::generate
