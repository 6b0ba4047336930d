#pragma once

#include <chainbase/state_root/sha256.hpp>

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

/// The roots of a chain's blocks, from a state or a file.
///
/// A line of the file describes a block, by rising numbers; lines that begin with `#` are comments
/// or headers:
///
///     # chain: NAME              optional
///     # types: TYPE,...          what the roots commit to; optional
///     NUMBER ROOT WRITES         two digests of 64 hexadecimal digits (block_root)
struct known_roots {
    struct entry {
        sha256_digest root;
        sha256_digest writes; ///< digest of the block's writes; zeros: unknown

        /// Whether both blocks wrote the same; nothing: unknown.
        [[nodiscard]] std::optional<bool> wrote_as(const entry& other) const noexcept {
            if (writes == sha256_digest{} || other.writes == sha256_digest{}) return std::nullopt;
            return writes == other.writes;
        }
    };
    std::filesystem::path source;
    bool is_of_state = false;    ///< else from a file
    std::string chain;           ///< empty: unknown
    std::set<std::string> types; ///< committed types; empty: unknown
    std::map<std::uint64_t, entry> by_number;

    /// Whether it is a file (a pipe, too), not a state or a checkpoint. Throws usage_error when
    /// there is neither.
    [[nodiscard]] static bool is_file(const std::filesystem::path& source);
    /// Calls of_file() or of_state() and throws as they do.
    [[nodiscard]] static known_roots read(const std::filesystem::path& source);
    /// The roots of the state in a folder, running or not, or of a checkpoint
    /// (inspect::named_state). Throws usage_error when the state keeps none, and what opening a
    /// state for reading throws.
    [[nodiscard]] static known_roots of_state(const std::filesystem::path& state);
    [[nodiscard]] static known_roots of_state(inspect::row_source& from);
    /// Throws io_error naming the file, damaged_error naming file and line.
    [[nodiscard]] static known_roots of_file(const std::filesystem::path& file);

    /// Throws usage_error, with what to do, when the others are of another chain or commit to other
    /// types.
    void require_comparable(const known_roots& others) const;
    /// Keeps only the roots in a range of numbers, and of these the newest. Throws usage_error,
    /// with the available numbers, when none is left.
    void keep(std::uint64_t first, std::uint64_t last, std::size_t newest);
    /// The file's text.
    [[nodiscard]] std::string to_text() const;
    [[nodiscard]] std::string to_json() const;
};

} // namespace chainbase::driver
