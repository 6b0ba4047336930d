#pragma once

#include <tools/block_log/bytes.hpp>

#include <boost/endian/buffers.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// The block log, its index and its mark byte by byte, as README.md draws them. All numbers are
/// little-endian and unaligned; checksums are XXH3-64 with seed 0.
namespace chainbase::block_log_format {

using boost::endian::little_uint32_buf_t;
using boost::endian::little_uint64_buf_t;

inline constexpr std::uint32_t version = 1;

/// The first byte is above 127 and a line end follows, so that a log damaged by a text-mode or
/// 7-bit transfer is recognised.
inline constexpr std::array<unsigned char, 8> log_magic{0x8e, 'B', 'L', 'K', 'L', 'O', 'G', '\n'};
inline constexpr std::array<unsigned char, 8> index_magic{0x8e, 'B', 'L', 'K', 'I', 'D', 'X', '\n'};
inline constexpr std::array<unsigned char, 8> mark_magic{0x8e, 'B', 'L', 'K', 'S', 'Y', 'N', '\n'};
inline constexpr std::uint32_t record_magic = 0x5243e28d;
inline constexpr std::uint32_t record_end_magic = 0x4543e28d;

/// Upper bound of a record's size, packed or unpacked. Limits what a damaged or hostile length
/// makes a reader allocate.
inline constexpr std::uint32_t max_record_bytes = 64u << 20;

/// The first 64 bytes of a log. Later versions keep this layout, so that each version can name the
/// other in its message.
struct file_header {
    std::array<unsigned char, 8> magic;
    little_uint32_buf_t version;
    little_uint32_buf_t header_bytes;
    std::array<char, 32> chain; // padded with zero bytes
    little_uint64_buf_t reserved;
    little_uint64_buf_t checksum; // of the 56 bytes before it
};
static_assert(sizeof(file_header) == 64 && offsetof(file_header, checksum) == 56);

/// Precedes a record's packed payload.
struct record_header {
    little_uint32_buf_t magic;
    little_uint32_buf_t packed_bytes;
    little_uint32_buf_t unpacked_bytes;
    little_uint32_buf_t blocks;
    little_uint64_buf_t first_number;
    little_uint64_buf_t last_number;
};
static_assert(sizeof(record_header) == 32 && offsetof(record_header, first_number) == 16);

/// Follows the payload; its length leads to the record's start from the record's end.
struct record_trailer {
    little_uint32_buf_t record_bytes;
    little_uint32_buf_t magic;
    little_uint64_buf_t checksum; // of everything before it: header, payload, the 8 bytes above
};
static_assert(sizeof(record_trailer) == 16 && offsetof(record_trailer, checksum) == 8);

/// The start of an index; its entries and a checksum of everything before it follow.
struct index_header {
    std::array<unsigned char, 8> magic;
    little_uint32_buf_t version;
    little_uint32_buf_t records;
    little_uint64_buf_t header_checksum; // of the log this index belongs to
    little_uint64_buf_t log_bytes;       // of the log when the index was written
    little_uint64_buf_t last_checksum;   // of the last record; 0 without one
    little_uint64_buf_t last_number;     // of the last block; 0 without one
    little_uint64_buf_t blocks;
};
static_assert(sizeof(index_header) == 56 && offsetof(index_header, log_bytes) == 24);

struct index_entry {
    little_uint64_buf_t offset; // of the record in the log
    little_uint64_buf_t first_number;
    little_uint64_buf_t blocks_before;
};
static_assert(sizeof(index_entry) == 24);

/// A whole mark. Smaller than a sector, so a write replaces it entirely or not at all.
struct mark_content {
    std::array<unsigned char, 8> magic;
    little_uint32_buf_t version;
    little_uint32_buf_t is_open;         // 1 while a writer may append behind it, else 0
    little_uint64_buf_t header_checksum; // of the log this mark belongs to
    little_uint64_buf_t log_bytes;       // bytes of the log that are on the device
    little_uint64_buf_t last_checksum;   // of the record that ends there; 0 without one
    little_uint64_buf_t inode;           // of the log's file
    little_uint64_buf_t checksum;        // of the 48 bytes before it
};
static_assert(sizeof(mark_content) == 56 && offsetof(mark_content, checksum) == 48);

inline constexpr std::uint64_t min_record_bytes = sizeof(record_header) + sizeof(record_trailer);

/// Checksum of everything before the last member, which is the checksum of a header or a mark.
template <class Content>
[[nodiscard]] std::uint64_t own_checksum(const Content& of) noexcept {
    return chainbase::checksum(view_of(of).first(offsetof(Content, checksum)));
}

/// Makes the header of a log, or of a branch file, which has another magic number. Throws
/// usage_error naming the file as `what` unless `chain` has 1 to 32 bytes, none of them zero.
[[nodiscard]] file_header make_header(const std::array<unsigned char, 8>& magic, const char* what,
                                      std::string_view chain);

} // namespace chainbase::block_log_format
