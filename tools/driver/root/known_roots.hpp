#pragma once

#include <chainbase/sha256.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace chainbase::driver {

/// The roots of a chain's blocks, as a state keeps them or as a file says.
///
/// The file has a line for each block, by rising numbers, behind lines that begin with `#`:
///
///     NUMBER ROOT WRITES         two digests of 64 hexadecimal digits (block_root)
struct known_roots {
    struct entry {
        sha256_digest root;
        sha256_digest writes; ///< of what the block wrote
    };
    std::filesystem::path source;
    std::map<std::uint64_t, entry> by_number;

    /// Of the state in a folder, running or not, or of a checkpoint (inspect::named_state); or of a
    /// file. Throws usage_error when the state keeps none, what looking at a state throws, io_error
    /// naming the file, damaged_error naming file and line.
    [[nodiscard]] static known_roots read(const std::filesystem::path& source);

    /// As the file has it.
    [[nodiscard]] std::string to_text() const;
};

} // namespace chainbase::driver
