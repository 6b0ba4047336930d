#pragma once

#include <pool_allocator/base/unfinished_name.hpp>
#include <tools/block_log/branch_file.hpp>
#include <tools/driver/generate/mix.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::generate {

/// Redistributes the transactions of consecutive blocks, as on a chain where the same pending
/// transactions went into other blocks: a branch of `length` blocks with the numbers and times of
/// the first `length` of `main`.
///
/// Keeps the order; no transaction moves to a later block, and each block takes at most all of the
/// next one's early. So operations that need only earlier ones (a vote its comment, a payment its
/// money) and are allowed until a time (a vote until the cash-out) stay valid. The branch leaves
/// out transactions that its last block could not take, and some at its end.
///
/// Requires at least `length` blocks; with one more, the last block can take some early, too.
/// Returns nothing when the first block would be unchanged, because no transaction could come
/// early.
[[nodiscard]] std::optional<branch> make_branch(std::uint64_t forks_after,
                                                std::span<const block> main, std::size_t length,
                                                random_numbers& random);

/// Appends a transaction that breaks the chain's rules to the branch's last block.
void append_invalid_transaction(branch& one, std::string_view chain);

/// Frequency and shape of branches.
struct fork_options {
    std::uint32_t percent = 0;     ///< share of blocks followed by a branch
    std::uint32_t depth = 10;      ///< length of the longest branch
    std::uint32_t bad_percent = 0; ///< share of branches that end with an invalid transaction
};

inline constexpr std::uint32_t deepest_fork = 1000;

/// Writes a file of branches while the chain's blocks pass by. Keeps as many of them as the longest
/// branch has. The file gets its name when it is complete. Not thread-safe.
class branch_generator {
public:
    /// Throws usage_error when `path` exists.
    branch_generator(const std::filesystem::path& path, std::string chain,
                     const fork_options& options, std::uint64_t seed);

    /// Passes the next block of the chain. Throws what branch_file_writer throws.
    void add(const block& next);

    /// Makes the remaining branches and gives the file its name. No further calls are allowed.
    void finish();

    [[nodiscard]] std::uint64_t branches() const noexcept { return file_.branches(); }
    [[nodiscard]] std::uint64_t blocks() const noexcept { return blocks_; }
    [[nodiscard]] std::uint64_t bad_branches() const noexcept { return bad_; }

private:
    void make_next_branch();

    std::string chain_;
    fork_options options_;
    random_numbers random_;
    unfinished_name name_;
    branch_file_writer file_;
    std::vector<block> window_; ///< the first is the next fork point
    std::uint64_t blocks_ = 0;
    std::uint64_t bad_ = 0;
};

} // namespace chainbase::generate
