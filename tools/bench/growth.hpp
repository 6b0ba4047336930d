#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chainbase::bench {

/// What the growth bench is to do.
struct growth_options {
    std::vector<std::uint64_t> objects{1'000'000, 2'000'000, 5'000'000, 10'000'000, 20'000'000};
    std::uint64_t operations = 500'000;
    std::uint32_t rounds = 1;
    std::vector<std::string> engines{"chainbase", "classical"};
    std::filesystem::path directory;
    bool csv = false;
    bool json = false;
};

/// Effects: runs the bench and prints its report. Throws as add_growth_bench.
void run_growth(const growth_options& options);

} // namespace chainbase::bench
