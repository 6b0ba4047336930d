#pragma once

#include <cstdint>
#include <filesystem>

namespace chainbase::bench {

struct root_options {
    std::uint32_t objects = 1'000'000;
    std::uint64_t operations = 400'000; ///< of the replayed log; 0: no replay
    std::uint32_t rounds = 5;
    std::filesystem::path directory; ///< where the states are made
    bool json = false;
};

/// Makes a tree of so many objects and measures its size; then in each round blocks that change
/// random objects, with one thread and with two, and proofs; at the end how it differs from another
/// tree, and the root made from scratch. Then it replays a generated log with a root for each block
/// and without one. Prints all rows; as JSON, `operations` beside what each bench has.
///
/// Throws damaged_error when a root, a proof or a difference is not what it must be, what replaying
/// throws, error when interrupted.
void run_root(const root_options& options);

} // namespace chainbase::bench
