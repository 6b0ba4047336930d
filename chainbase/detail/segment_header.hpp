#pragma once

#include <chainbase/segment_header.hpp>
#include <pool_allocator/window.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

/// What is read from a segment's header, and written to it, as a file.
namespace chainbase::detail {

/// Of what never changes in a header.
[[nodiscard]] std::uint32_t static_checksum(const segment_header& header);
/// Whether it begins as a header does and its checksum is right.
[[nodiscard]] bool is_whole(const segment_header& header);
/// Of the segment in `folder`, if it is whole. Throws access_error, io_error.
[[nodiscard]] std::optional<segment_header> header_in(const std::filesystem::path& folder);
/// Throws format_error when `content` does not begin as a header does.
void require_magic(const std::filesystem::path& file, std::string_view content);

/// Different after every start of the machine. Throws io_error.
[[nodiscard]] std::string boot_id();
/// In which it was last opened for writing.
[[nodiscard]] std::string boot_of(const segment_header& header);

/// CRC-32 over the header pages and the lengths of all windows: what a closed state's words are.
class roots_checksum {
public:
    /// Reads them from the file, since its mapping may not have been touched. Throws io_error.
    void add(const window& file);
    [[nodiscard]] std::uint32_t value() const noexcept { return crc_; }

private:
    std::uint32_t crc_ = 0;
};

/// Of a segment that is not closed and was never opened.
[[nodiscard]] segment_header fresh_header(std::uint64_t window_bytes, std::uint32_t windows);
/// Replaces `folder`/header. Throws as replace_file does.
void write_header(const std::filesystem::path& folder, const segment_header& header);

} // namespace chainbase::detail
