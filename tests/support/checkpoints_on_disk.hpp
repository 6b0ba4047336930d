#pragma once

#include <tests/support/scratch_state.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>

namespace chainbase::test {

/// Checkpoints are made when they are asked for, and at the end.
inline open_options with_checkpoints() {
    open_options how = quick_options();
    how.promise = durability::checkpoint;
    how.checkpoints = {std::chrono::milliseconds(0), 0};
    return how;
}

/// Flips a bit of a file.
inline void flip_bit(const std::filesystem::path& file, std::uint64_t bit) {
    std::fstream both(file, std::ios::binary | std::ios::in | std::ios::out);
    both.seekg(static_cast<std::streamoff>(bit / 8));
    const char byte = static_cast<char>(both.get() ^ (1 << bit % 8));
    both.seekp(static_cast<std::streamoff>(bit / 8));
    both.put(byte);
}

} // namespace chainbase::test
