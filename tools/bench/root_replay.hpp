#pragma once

#include <tools/bench/measurements.hpp>
#include <tools/interruption.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace chainbase::bench {

/// A generated log of the social chain with 500 transactions in a block, replayed by the driver
/// with a root for each block, of all types, and without one.
class root_replay {
public:
    /// Makes the log in `directory`. Throws what writing it throws, error when interrupted.
    root_replay(const std::filesystem::path& directory, std::uint64_t operations,
                const catch_interruption& signals);

    /// Both, one after the other, each in a fresh state. Throws what driver::replay throws,
    /// damaged_error when they do not come to the same objects.
    void run_round(measurements& to) const;

private:
    struct outcome {
        double ns; ///< an operation
        std::string digest;
    };
    [[nodiscard]] outcome replay_once(bool with_root) const;

    std::filesystem::path directory_;
    std::filesystem::path log_;
    const catch_interruption& signals_;
};

} // namespace chainbase::bench
