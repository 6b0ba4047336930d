#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace chainbase::driver {

/// Whether a state has a root, and of what. What is not said stays as it is in the state.
struct root_options {
    /// The types whose objects it commits to. {"all"}: all of the chain; {"none"}: there is no
    /// root, as in a new state for which nothing is said.
    std::optional<std::set<std::string>> types;
    /// The number of blocks whose roots are kept.
    std::optional<std::uint64_t> kept;
    /// Threads that hash, besides the one that applies blocks.
    unsigned threads = std::max(1u, std::thread::hardware_concurrency()) - 1;

    /// Whether there is to be no root, also where there is one.
    [[nodiscard]] bool is_none() const { return types == std::set<std::string>{"none"}; }
};

} // namespace chainbase::driver
