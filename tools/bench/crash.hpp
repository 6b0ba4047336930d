#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::bench {

struct crash_options {
    std::uint32_t objects = 5'000'000;
    std::uint32_t payments = 1000; ///< of a block
    std::uint32_t blocks = 100;    ///< timed
    std::uint32_t rounds = 3;
    std::vector<std::string> engines; ///< empty: all
    std::filesystem::path directory;  ///< on storage
    std::filesystem::path memory;     ///< for what need not survive the machine
    bool json = false;
};

/// Fills, changes, kills and opens again the state of each engine in each round, in processes of
/// their own, and prints the report. Throws error when an engine does not come back to its last
/// complete block with all the money, and what the engines throw.
void run_crash(const crash_options& options);

} // namespace chainbase::bench
