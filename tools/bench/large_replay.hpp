#pragma once

#include <tools/bench/measurements.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace chainbase::bench {

/// The rows of `large` about replaying: a generated social chain, finished comments kept in the
/// state. The same blocks for every place of the segment:
///
///     |  85 %, the state grows  |  5 %: `replay`  |  5 %, untimed  |  5 %: `short_replay`  |
///                                                 ^ half of the state's size of memory is left
///
/// Blocks are decoded before they are timed, so that a row is applying alone. Where no memory is
/// taken away, the last part is `replay_of_short`, which `short_replay_to_memory` is a ratio to.
class large_replay {
public:
    /// `measured` must outlive it. Operations: 0 for no rows.
    large_replay(std::uint64_t operations, measurements& measured)
        : operations_(operations), measured_(measured) {}

    enum class place {
        memory,
        disk,            ///< with memory enough
        disk_then_short, ///< and then without
    };
    /// Measures for the engine selected in `measured`, with a state in `folder`, which is empty.
    /// Throws damaged_error when the state differs from the one before, error when interrupted.
    void run(const std::filesystem::path& folder, place where);

private:
    void require_same(const std::string& digest);

    std::uint64_t operations_;
    measurements& measured_;
    std::string digest_;
    double of_short_in_memory_ = 0; ///< ns per operation, in the last round; 0: not measured
};

} // namespace chainbase::bench
