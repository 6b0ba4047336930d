#pragma once

#include <chainbase/sha256.hpp>
#include <tools/driver/root/known_roots.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chainbase::driver {

/// Where two runs of a chain began to differ, and in what.
struct bisection {
    /// The first block with another root.
    struct block {
        std::uint64_t number = 0;
        known_roots::entry a;
        known_roots::entry b;

        /// The block itself did the same: what differs was changed by something else before it.
        [[nodiscard]] bool has_same_writes() const noexcept { return a.writes == b.writes; }
    };
    /// An object that is not the same.
    struct object {
        std::string type;
        std::uint32_t id = 0;
        std::string a; ///< JSON; empty: not there
        std::string b;
        std::vector<std::string> fields; ///< that differ, if it is in both
    };
    /// One of the two.
    struct side {
        std::filesystem::path path;
        bool is_state = false;  ///< else a file of roots
        std::uint64_t head = 0; ///< the last block whose root it has
        /// What its objects, looked at one by one, have other than its root says: each in words.
        std::vector<std::string> faults;
        std::uint64_t fault_count = 0;
    };

    side a;
    side b;
    std::uint64_t first_compared = 0; ///< blocks
    std::uint64_t last_compared = 0;
    std::optional<block> differs; ///< nothing: all blocks that both have are the same
    /// The states as they are, after their heads, if both are there and their roots differ.
    std::vector<object> objects; ///< the first ones
    std::uint64_t object_count = 0;

    [[nodiscard]] bool is_same() const noexcept {
        return !differs && object_count == 0 && a.fault_count == 0 && b.fault_count == 0;
    }

    /// Compares the roots of blocks, of two states or files; then what two states differ in, by
    /// their trees; and, if no root differs, whether their objects are what the roots say. Names at
    /// most `objects_limit` objects of each. Throws usage_error when they have no block in common
    /// or commit to other types, and what looking at a state throws.
    [[nodiscard]] static bisection of(const std::filesystem::path& a,
                                      const std::filesystem::path& b, std::size_t objects_limit);
};

/// For people, and as one JSON object.
[[nodiscard]] std::string to_text(const bisection& found);
[[nodiscard]] std::string to_json(const bisection& found);

} // namespace chainbase::driver
