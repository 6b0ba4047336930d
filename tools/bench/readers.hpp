#pragma once

#include <cstdint>
#include <filesystem>

namespace chainbase::bench {

struct readers_options {
    std::uint32_t objects = 20'000;
    std::uint32_t readers = 10;
    std::uint32_t milliseconds = 3000;
    std::uint32_t rounds = 3;
    std::filesystem::path inspect;   ///< the program
    std::filesystem::path directory; ///< where the state is made
    bool json = false;
};

/// Applies blocks as fast as it can to a state of accounts: alone, then beside inspectors that
/// range, dump and stat in turns and pause for two seconds after each turn, then beside such
/// without a pause that have the lowest priority, then beside such of the same priority; in each
/// round in this order. Prints per block what it took by the clock and of the processor, and how
/// long the lock was waited for; and the ratios to being alone.
///
/// The last setting shares the processors with the readers, so its ratio is that of the processors
/// more than that of the lock.
///
/// Throws usage_error when the inspector is not there or cannot read the state, error when
/// interrupted.
void run_readers(const readers_options& options);

} // namespace chainbase::bench
