#include <chainbase/segment/log_witness.hpp>
#include <chainbase/segment/segment_header.hpp>
#include <pool_allocator/base/error.hpp>
#include <pool_allocator/base/files.hpp>
#include <pool_allocator/base/private_folder.hpp>

#include <boost/crc.hpp>
#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace chainbase::detail {

namespace {

constexpr char magic[16] = "chainbase state";

} // namespace

std::uint32_t static_checksum(const segment_header& header) {
    boost::crc_32_type crc;
    crc.process_bytes(&header, offsetof(segment_header, checksum));
    return crc.checksum();
}

bool is_whole(const segment_header& header) {
    return std::memcmp(header.magic, magic, sizeof magic) == 0 &&
           header.checksum == static_checksum(header);
}

std::optional<segment_header> header_in(const std::filesystem::path& folder) {
    const std::string content = read_file(folder / "header");
    segment_header found;
    if (content.size() < sizeof found) return {};
    std::memcpy(&found, content.data(), sizeof found);
    if (!is_whole(found)) return {};
    return found;
}

void claim_header(const file_descriptor& file, const std::filesystem::path& name) {
    const file_identity own = file_identity::of(file, name);
    write_at(file, name, offsetof(segment_header, file), std::as_bytes(std::span(&own, 1)));
    log_witness::forget(own);
}

bool has_magic(std::string_view content) {
    return content.substr(0, sizeof magic) == std::string_view(magic, sizeof magic);
}

std::string boot_of(const segment_header& header) {
    return {header.boot, strnlen(header.boot, sizeof header.boot)};
}

void roots_checksum::add(const window& file) {
    std::array<std::byte, window_header::page_bytes + sizeof(std::uint64_t)> content;
    file.read(0, std::span(content).first<window_header::page_bytes>());
    const std::uint64_t bytes = file.bytes();
    std::memcpy(content.data() + window_header::page_bytes, &bytes, sizeof bytes);
    crc_ = static_cast<std::uint32_t>(
        crc32_z(crc_, reinterpret_cast<const Bytef*>(content.data()), content.size()));
}

segment_header fresh_header(std::uint64_t window_bytes, std::uint32_t windows) {
    segment_header header{};
    std::memcpy(header.magic, magic, sizeof magic);
    header.format = segment_header::current_format;
    header.windows = windows;
    header.window_bytes = window_bytes;
    header.checksum = static_checksum(header);
    return header;
}

void write_header(const std::filesystem::path& folder, const segment_header& header) {
    std::string page(segment_header::page_bytes, '\0');
    std::memcpy(page.data(), &header, sizeof header);
    const std::filesystem::path file = folder / "header";
    replace_file(file, page);
    claim_header(open_private(file, file_use::write), file);
}

} // namespace chainbase::detail
