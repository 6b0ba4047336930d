#pragma once

#include <boost/endian/buffers.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

/// What goes over the wire between `serve` and `sync`, byte by byte, as README.md draws it. All
/// numbers are little-endian and unaligned.
namespace chainbase::driver::wire {

using boost::endian::little_uint32_buf_t;
using boost::endian::little_uint64_buf_t;

inline constexpr std::uint32_t version = 1;
inline constexpr std::array<unsigned char, 8> magic{0x8e, 'B', 'L', 'K', 'S', 'Y', 'N', '\n'};

/// What the payload of one frame has at most, which also bounds what a hostile length or a block
/// can make a reader allocate.
inline constexpr std::size_t max_payload = std::size_t{16} << 20;
/// The same of every message but `blocks`.
inline constexpr std::size_t max_small_payload = std::size_t{128} << 10;
/// Blocks that a request names at most.
inline constexpr std::size_t max_known_blocks = 4097;
/// Bytes of a refusal's text at most.
inline constexpr std::size_t max_reason = 1024;

enum class message : std::uint32_t {
    hello = 1,     ///< both, first of all: who speaks
    request = 2,   ///< the client: which blocks it has
    blocks = 3,    ///< the server: blocks that follow each other
    caught_up = 4, ///< the server: this is all there is, for now or for good
    refusal = 5,   ///< either, last of all: why it hangs up
    keepalive = 6, ///< the server: still there
};

/// Precedes every payload.
struct frame_header {
    little_uint32_buf_t payload_bytes;
    little_uint32_buf_t type;
    little_uint64_buf_t checksum; // XXH3-64 of the payload, the 8 bytes above as its seed
};
static_assert(sizeof(frame_header) == 16 && offsetof(frame_header, checksum) == 8);

struct place {
    little_uint64_buf_t number;
    little_uint64_buf_t id_high;
    little_uint64_buf_t id_low;
};
static_assert(sizeof(place) == 24);

/// Later versions keep the first 16 bytes, so that each version can name the other.
struct hello {
    std::array<unsigned char, 8> magic;
    little_uint32_buf_t version;
    little_uint32_buf_t reserved;
    std::array<char, 32> chain; // padded with zero bytes; the client's is empty when any will do
    place first;                // of the blocks that the sender has; all zero when it has none
    place last;
};
static_assert(sizeof(hello) == 96 && offsetof(hello, first) == 48);

/// `count` places follow, the newest first.
struct request {
    little_uint32_buf_t count;
    little_uint32_buf_t reserved;
};
static_assert(sizeof(request) == 8);

/// `count` blocks follow: the bytes of each as 32 bits, then its encoding.
struct blocks {
    place parent; // of the first of them; each of the others follows the one before it
    little_uint32_buf_t count;
    little_uint32_buf_t reserved;
};
static_assert(sizeof(blocks) == 32 && offsetof(blocks, count) == 24);

struct caught_up {
    place head;
    little_uint32_buf_t is_end; // 1: no more will ever come; 0: perhaps
    little_uint32_buf_t reserved;
};
static_assert(sizeof(caught_up) == 32 && offsetof(caught_up, is_end) == 24);

/// Its text follows.
struct refusal {
    little_uint32_buf_t reason;
    little_uint32_buf_t reserved;
};
static_assert(sizeof(refusal) == 8);

/// Why a peer hangs up.
enum class refusal_reason : std::uint32_t {
    busy = 1,            ///< too many connections: later
    malformed = 2,       ///< what came breaks the protocol
    wrong_version = 3,   ///< of the protocol
    wrong_chain = 4,     ///< blocks of another chain
    no_common_block = 5, ///< nothing of what the client has
    too_slow = 6,        ///< a time limit ran out
    ending = 7,          ///< the server ends
};

} // namespace chainbase::driver::wire
