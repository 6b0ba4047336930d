#pragma once

#include <tools/driver/generate/measures.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::generate {

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
