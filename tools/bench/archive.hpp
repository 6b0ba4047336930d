#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace chainbase::bench {

struct archive_options {
    std::uint32_t rows = 5'000'000;
    std::uint32_t finds = 400'000;
    std::uint32_t cache_mib = 2048;
    std::uint32_t rounds = 3;
    std::string mix = "comment=93,vote=7"; ///< of operations, as `generate` takes it
    std::filesystem::path directory;       ///< on storage
    std::filesystem::path memory;
    bool json = false;
};

/// Generates a log of a social chain, replays it in each round with all comments kept in memory
/// (`kept`) and with the paid ones in RocksDB (`chainbase`), looks for archived ones, and prints
/// the report. Throws usage_error for a mix that is none or has no comments, damaged_error when the
/// two states are not the same or a row is not found.
void run_archive(const archive_options& options);

} // namespace chainbase::bench
