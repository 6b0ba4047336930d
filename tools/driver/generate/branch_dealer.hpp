#pragma once

#include <chainbase/unfinished_name.hpp>
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

/// Deals the transactions of some consecutive blocks out anew, as on a chain where the same pending
/// ones went into other blocks: a branch of `length` blocks with the numbers and times of the first
/// `length` of `main`.
///
/// The order stays, no transaction comes in a later block than it did, and of each block at most
/// all of the next one's come early. So whatever needs only what is before it (a vote its comment,
/// a payment its money) and is allowed until a time comes (a vote until the cash-out) stays
/// allowed. What the last block could not take is left out, as are some at its end.
///
/// Requires at least `length` blocks; one more lets the last block take some early, too. Returns
/// nothing when the first block would be the same, because nothing is there that could come early.
[[nodiscard]] std::optional<branch> make_branch(std::uint64_t forks_after,
                                                std::span<const block> main, std::size_t length,
                                                random_numbers& random);

/// Adds a transaction that the chain's rules refuse to the end of a branch's last block.
void spoil(branch& one, std::string_view chain);

/// How often branches fork off, and how they are.
struct fork_options {
    std::uint32_t percent = 0;     ///< of the blocks: how many have a branch after them
    std::uint32_t depth = 10;      ///< blocks of the longest branch
    std::uint32_t bad_percent = 0; ///< of the branches: how many end with what the rules refuse
};

inline constexpr std::uint32_t deepest_fork = 1000;

/// Makes a file of branches while the blocks that they fork off go by. Keeps as many of them as the
/// deepest branch has. The file gets its name when it is complete. Not thread-safe.
class branch_dealer {
public:
    /// Throws usage_error when `path` exists.
    branch_dealer(const std::filesystem::path& path, std::string chain, const fork_options& options,
                  std::uint64_t seed);

    /// The next block of the chain. Throws what branch_file_writer throws.
    void add(const block& next);

    /// Deals what is left, and gives the file its name. Nothing else may be called afterwards.
    void finish();

    [[nodiscard]] std::uint64_t branches() const noexcept { return file_.branches(); }
    [[nodiscard]] std::uint64_t blocks() const noexcept { return blocks_; }
    [[nodiscard]] std::uint64_t bad_branches() const noexcept { return bad_; }

private:
    void deal();

    std::string chain_;
    fork_options options_;
    random_numbers random_;
    unfinished_name name_;
    branch_file_writer file_;
    std::vector<block> window_; ///< the first is the one that branches may fork off next
    std::uint64_t blocks_ = 0;
    std::uint64_t bad_ = 0;
};

} // namespace chainbase::generate
