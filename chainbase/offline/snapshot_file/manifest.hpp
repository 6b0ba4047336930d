#pragma once

#include <chainbase/object/schema.hpp>
#include <chainbase/offline/snapshot_file/chunk.hpp>
#include <undo/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chainbase::snapshot_file {

/// Bytes of a manifest.
inline constexpr std::uint64_t most_manifest_bytes = std::uint64_t{256} << 20;

/// Whether a type is of an archive in memory, whose rows are among those of the types whose they
/// are: it is no type of a snapshot.
[[nodiscard]] inline bool is_of_archive(std::string_view type) noexcept {
    return type == "archive.table" || type == "archive.row" || type == "archive.key";
}

/// A chunk as the manifest lists it.
struct chunk_entry {
    node at;
    std::uint32_t objects = 0;
    std::uint64_t bytes = 0; ///< of its content
    sha256_digest digest{};  ///< of its content
    sha256_digest root{};    ///< of its node

    friend bool operator==(const chunk_entry&, const chunk_entry&) = default;
};

/// Whether entries of one content, of whichever nodes, say the same of it.
[[nodiscard]] bool has_same_rows(const chunk_entry& a, const chunk_entry& b);

/// A type as the manifest lists it.
struct type_entry {
    type_schema schema;
    std::uint32_t next_id = 0;
    bool is_committed = false; ///< by the state root
    std::uint64_t objects = 0;
    std::uint64_t archived = 0;   ///< of these, the ones that are only in the archive
    std::uint32_t row_layout = 0; ///< fingerprint of the archive's rows; 0: there are none
    std::vector<std::string> archive_keys;
    unsigned height = 0;
    sha256_digest root{};
    std::vector<chunk_entry> chunks; ///< by rising ids
    /// Of rows that the archive still has of objects that were removed; not in the tree.
    std::vector<chunk_entry> removed;

    /// What follows from the chunks: the type's root.
    [[nodiscard]] sha256_digest computed_root() const;
};

/// What a snapshot consists of.
struct manifest {
    struct block_name {
        std::uint64_t number = 0;
        std::string id; ///< hexadecimal
        friend bool operator==(const block_name&, const block_name&) = default;
    };

    std::string chain;
    revision_number revision = 0;
    std::optional<block_name> block;
    std::optional<sha256_digest> state_root;
    std::string archive;           ///< its kind; empty: there is none
    std::vector<type_entry> types; ///< by name

    /// The bytes of the file.
    [[nodiscard]] std::string text() const;
    /// Reads what text() wrote, and checks all that follows from itself: order, places, sums,
    /// limits, roots of types, and the state root. There is one text of a manifest: another one of
    /// the same meaning is refused, too. `file` is its name in messages. Throws damaged_error
    /// naming file and member, format_error for another version.
    [[nodiscard]] static manifest of(std::string_view text, const std::string& file);

    /// SHA-256 of text().
    [[nodiscard]] sha256_digest name() const;
    /// What the committed types lead to; nothing when there are none.
    [[nodiscard]] std::optional<sha256_digest> computed_state_root() const;
    [[nodiscard]] const type_entry* find(std::string_view type) const noexcept;
    [[nodiscard]] std::uint64_t objects() const noexcept;
    [[nodiscard]] std::uint64_t bytes() const noexcept; ///< of all contents
    [[nodiscard]] std::size_t chunks() const noexcept;
};

} // namespace chainbase::snapshot_file
