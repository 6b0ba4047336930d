#pragma once

#include <chainbase/offline/snapshot_file/folder.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace chainbase::inspect {

/// How the objects of a type differ in two snapshots.
struct type_difference {
    std::string type;
    std::string problem{}; ///< if not empty: why objects are not compared
    std::uint64_t only_a = 0;
    std::uint64_t only_b = 0;
    std::uint64_t changed = 0;
    std::uint64_t placed = 0; ///< the same object, in memory in one and in the archive in the other
    std::vector<std::uint32_t> ids{}; ///< the first of them

    [[nodiscard]] std::uint64_t all() const noexcept { return only_a + only_b + changed + placed; }
};

/// The types that differ. Reads only chunks that the other has not. `limit`: how many ids are
/// named. Throws what folder_reader::content throws.
[[nodiscard]] std::vector<type_difference> differences(const snapshot_file::folder_reader& a,
                                                       const snapshot_file::folder_reader& b,
                                                       std::uint64_t limit);

} // namespace chainbase::inspect
