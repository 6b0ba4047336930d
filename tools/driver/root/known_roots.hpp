#pragma once

#include <chainbase/sha256.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace chainbase::inspect {
class row_source;
}

namespace chainbase::driver {

/// The roots of a chain's blocks, as a state keeps them or as a file says.
///
/// The file has a line for each block, by rising numbers, beside lines that begin with `#`:
///
///     # chain: NAME              need not be there
///     # types: TYPE,...          what the roots commit to; neither
///     NUMBER ROOT WRITES         two digests of 64 hexadecimal digits (block_root)
struct known_roots {
    struct entry {
        sha256_digest root;
        sha256_digest writes; ///< of what the block wrote; zeros: nobody knows

        /// Whether both blocks wrote the same; nothing: nobody knows.
        [[nodiscard]] std::optional<bool> wrote_as(const entry& other) const noexcept {
            if (writes == sha256_digest{} || other.writes == sha256_digest{}) return std::nullopt;
            return writes == other.writes;
        }
    };
    std::filesystem::path source;
    bool is_of_state = false;    ///< else of a file
    std::string chain;           ///< empty: nobody said
    std::set<std::string> types; ///< that the roots commit to; none: nobody said
    std::map<std::uint64_t, entry> by_number;

    /// Whether it is a file (a pipe, too), and not a state or a checkpoint. Throws usage_error when
    /// neither is there.
    [[nodiscard]] static bool is_file(const std::filesystem::path& source);
    /// Of a file or of a state. Throws as these do.
    [[nodiscard]] static known_roots read(const std::filesystem::path& source);
    /// Of the state in a folder, running or not, or of a checkpoint (inspect::named_state). Throws
    /// usage_error when the state keeps none, and what looking at a state throws.
    [[nodiscard]] static known_roots of_state(const std::filesystem::path& state);
    [[nodiscard]] static known_roots of_state(inspect::row_source& from);
    /// Throws io_error naming the file, damaged_error naming file and line.
    [[nodiscard]] static known_roots of_file(const std::filesystem::path& file);

    /// Throws usage_error, with what to do, when those are of another chain or commit to other
    /// types.
    void require_comparable(const known_roots& others) const;
    /// Keeps those from one number to another, and of them the newest ones. Throws usage_error,
    /// with those that there are, when none is left.
    void keep(std::uint64_t first, std::uint64_t last, std::size_t newest);
    /// As the file has it.
    [[nodiscard]] std::string to_text() const;
    [[nodiscard]] std::string to_json() const;
};

} // namespace chainbase::driver
