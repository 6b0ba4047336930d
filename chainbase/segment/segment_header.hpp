#pragma once

#include <pool_allocator/base/file_identity.hpp>
#include <pool_allocator/window.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace chainbase {

/// The first page of `segment/header`.
///
///     0  magic          16  "chainbase state" and a zero byte
///    16  format          4
///    20  windows         4  reserved in the address space
///    24  window_bytes    8
///    32  checksum        4  CRC-32 of the 32 bytes before
///    36  clean           4  1: closed properly, and `roots` holds
///    40  roots           4  CRC-32 over the header pages of all windows, when clean
///    44  synced          4  1: when it was closed its files were on storage
///    48  boot           40  kernel's boot id when it was last opened for writing, zero-padded
///    88  identity       16  of the state; its checkpoints have the same
///   104  generation      8  when clean: of the checkpoint that holds just this state, 0 if none
///                           does
///   112  file           24  which file this is, since it was last opened for writing
struct segment_header {
    char magic[16];
    std::uint32_t format;
    std::uint32_t windows;
    std::uint64_t window_bytes;
    std::uint32_t checksum;
    std::uint32_t clean;
    std::uint32_t roots;
    std::uint32_t synced;
    char boot[40];
    std::array<std::byte, 16> identity;
    std::uint64_t generation;
    file_identity file;

    static constexpr std::uint32_t current_format = 4;
    /// The file is a page.
    static constexpr std::size_t page_bytes = 4096;
};
static_assert(sizeof(segment_header) == 136);

} // namespace chainbase

/// Reading and writing a segment's header as a file.
namespace chainbase::detail {

/// The checksum of the constant part of a header.
[[nodiscard]] std::uint32_t static_checksum(const segment_header& header);
/// Whether its magic and its checksum are right.
[[nodiscard]] bool is_whole(const segment_header& header);
/// The header of the segment in `folder`, if it is whole. Throws access_error, io_error.
[[nodiscard]] std::optional<segment_header> header_in(const std::filesystem::path& folder);
/// Whether the content of a file begins with a header's magic.
[[nodiscard]] bool has_magic(std::string_view content);

/// Stores the identity of the open header file `file`, named `name`, in the header: so a copy
/// counts as the segment itself. Throws io_error.
void claim_header(const file_descriptor& file, const std::filesystem::path& name);

/// The boot id under which it was last opened for writing.
[[nodiscard]] std::string boot_of(const segment_header& header);

/// CRC-32 over the header pages and the lengths of all windows of a closed state.
class roots_checksum {
public:
    /// Reads the file, not the mapping, whose pages need not be in memory. Throws io_error.
    void add(const window& file);
    [[nodiscard]] std::uint32_t value() const noexcept { return crc_; }

private:
    std::uint32_t crc_ = 0;
};

/// The header of a segment that is not closed and was never opened.
[[nodiscard]] segment_header fresh_header(std::uint64_t window_bytes, std::uint32_t windows);
/// Replaces `folder`/header and stores the new file's identity in it. Throws as replace_file does.
void write_header(const std::filesystem::path& folder, const segment_header& header);

} // namespace chainbase::detail
