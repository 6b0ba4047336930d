#pragma once

#include <cstdint>
#include <filesystem>

namespace chainbase::bench {

struct archive_options {
    std::uint32_t rows = 5'000'000;
    std::uint32_t finds = 400'000;
    std::uint32_t cache_mib = 2048;
    std::uint32_t rounds = 3;
    std::filesystem::path directory; ///< on storage
    std::filesystem::path memory;
    bool json = false;
};

/// Generates a log of a social chain, replays it in each round with all comments kept in memory
/// (`kept`) and with the paid ones in RocksDB (`chainbase`), looks for archived ones, and prints
/// the report. Throws damaged_error when the two states are not the same or a row is not found.
void run_archive(const archive_options& options);

} // namespace chainbase::bench
