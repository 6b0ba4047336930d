#pragma once

#include <tools/driver/generate/distribution.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
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

} // namespace chainbase::generate
