#pragma once

#include <tools/block_log/branch_file.hpp>
#include <tools/driver/generate/random_numbers.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

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

} // namespace chainbase::generate
