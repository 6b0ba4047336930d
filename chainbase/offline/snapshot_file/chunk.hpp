#pragma once

#include <archive/record/bytes.hpp>
#include <chainbase/state_root/sha256.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace chainbase::snapshot_file {

/// Bytes of the content of a chunk of more than one row, and of one row.
inline constexpr std::uint64_t most_bytes = std::uint64_t{8} << 20;
inline constexpr std::uint64_t most_row_bytes = std::uint64_t{1} << 30;

/// A node in the tree of a type: the ids from `first` to `first + 2^height - 1`. `first` is a
/// multiple of 2^height; the height is at most 32.
struct node {
    std::uint32_t first = 0;
    unsigned height = 0;

    [[nodiscard]] std::uint64_t end() const noexcept {
        return std::uint64_t{first} + (std::uint64_t{1} << height);
    }
    [[nodiscard]] bool is_valid() const noexcept;
    friend bool operator==(const node&, const node&) = default;
};

/// An object in a chunk. Views into its content.
struct chunk_row {
    std::uint32_t id = 0;
    archive::bytes_view record;
    bool is_archived = false;
    archive::bytes_view keys{}; ///< archived: as the row of a store ends

    /// What it takes in a content.
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return 2 * sizeof(std::uint32_t) + record.size() +
               (is_archived ? sizeof(std::uint32_t) + keys.size() : 0);
    }
};

/// The content of a chunk, as FORMAT.md has it: rows, one appended after the other.
class chunk_content {
public:
    /// Requires a rising id. Throws limit_error for a row of more than most_row_bytes.
    void add(const chunk_row& one);
    /// Appends all of `next`, whose ids are higher.
    void add(const chunk_content& next);
    void reserve(std::uint64_t bytes) { bytes_.reserve(bytes); }
    void clear() noexcept;

    [[nodiscard]] archive::bytes_view bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::uint32_t objects() const noexcept { return objects_; }
    [[nodiscard]] std::uint32_t archived() const noexcept { return archived_; }

private:
    archive::byte_buffer bytes_;
    std::uint32_t objects_ = 0;
    std::uint32_t archived_ = 0;
};

/// Calls visit(row) for each row of a content. Throws damaged_error, naming the offset, when it is
/// none (rows that are cut, or not of rising ids), and what `visit` throws. `of` says whose it is
/// in messages.
void each_row(archive::bytes_view content, const std::string& of,
              const std::function<void(const chunk_row&)>& visit);

/// The root of the node, which has these rows. Throws damaged_error as each_row, and for rows that
/// are not of the node.
[[nodiscard]] sha256_digest root_of(archive::bytes_view content, node at, const std::string& of);

/// The bytes of a chunk's file.
[[nodiscard]] archive::byte_buffer packed(archive::bytes_view content);
/// The content of these bytes, which has `bytes` bytes. Takes no more memory than that. Throws
/// damaged_error, naming `of`, when they are not a chunk of such a length.
[[nodiscard]] archive::byte_buffer unpacked(archive::bytes_view file, std::uint64_t bytes,
                                            const std::string& of);
/// How long the content of these bytes is, as they say. Throws damaged_error as unpacked(), and
/// when it is beyond every limit.
[[nodiscard]] std::uint64_t content_bytes(archive::bytes_view file, const std::string& of);
/// The most bytes that the file of a content of `bytes` has.
[[nodiscard]] std::uint64_t most_file_bytes(std::uint64_t bytes) noexcept;

} // namespace chainbase::snapshot_file
