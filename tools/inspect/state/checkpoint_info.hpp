#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace chainbase::checkpoint {
class published;
}

namespace chainbase::inspect {

/// A checkpoint as it says of itself; its pages are not read.
struct checkpoint_info {
    std::uint64_t generation = 0;
    std::int64_t revision = 0;
    std::int64_t irreversible_revision = 0;
    std::int64_t time = 0;     ///< Unix seconds
    std::uint64_t bytes = 0;   ///< of the files that a restore makes
    bool has_redo_log = false; ///< blocks after it are kept
};

/// The newest first.
[[nodiscard]] std::vector<checkpoint_info> checkpoints_of(const checkpoint::published& all);

/// Those of the state in a folder, as far as they can be read at this moment, also beside its
/// writer: for who looks again and again. `info` says what is wrong with others.
[[nodiscard]] std::vector<checkpoint_info> checkpoints_now(const std::filesystem::path& state);

} // namespace chainbase::inspect
