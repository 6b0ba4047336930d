#pragma once

#include <chainbase/checkpoint/slot_file.hpp>
#include <chainbase/state_root/sha256.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/block_log/bytes.hpp>
#include <tools/driver/chain_state.hpp>

#include <boost/endian/buffers.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The protocol between `serve` and its clients, byte by byte, as drawn in protocol.md. All numbers
/// are little-endian and unaligned.
namespace chainbase::driver::wire {

using boost::endian::little_uint32_buf_t;
using boost::endian::little_uint64_buf_t;

inline constexpr std::uint32_t version = 1;
inline constexpr std::array<unsigned char, 8> magic{0x8e, 'B', 'L', 'K', 'S', 'Y', 'N', '\n'};

/// Maximum payload of a frame. Limits what a hostile length or a block makes a reader allocate.
inline constexpr std::size_t max_payload = std::size_t{16} << 20;
/// Bytes of a file in a `snapshot_part` or `feed_part`.
inline constexpr std::size_t max_part = std::size_t{1} << 20;
/// Maximum payload of all messages except `blocks`, `snapshot_part` and `feed_part`.
inline constexpr std::size_t max_small_payload = std::size_t{128} << 10;
/// Maximum of blocks named in a request.
inline constexpr std::size_t max_known_blocks = 4097;
/// Maximum bytes of a refusal's text.
inline constexpr std::size_t max_reason = 1024;

enum class message : std::uint32_t {
    hello = 1,            ///< both, the first message
    request = 2,          ///< the client: the blocks it has
    blocks = 3,           ///< the server: consecutive blocks
    caught_up = 4,        ///< the server: no more blocks, for now or forever
    refusal = 5,          ///< either, the last message: why it disconnects
    keepalive = 6,        ///< the server: still alive
    snapshot_request = 7, ///< the client: a file of the snapshot that the server offers
    snapshot_part = 8,    ///< the server: consecutive bytes of that file
    feed_request = 9,     ///< the client: who it is, and where it is in the feed
    feed_part = 10,       ///< the server: consecutive bytes of the feed's files
    feed_state = 11,      ///< the server: where the feed ends, and whether it is written
    feed_keep = 12,       ///< the client: what it does not need any more; that it takes over
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
    little_uint32_buf_t offers; // the server's: a bit for each `offer`; older programs say 0
    std::array<char, 32> chain; // padded with zero bytes; the client's is empty to accept any
    place first;                // the sender's first block; all zero when it has none
    place last;
};
static_assert(sizeof(hello) == 96 && offsetof(hello, first) == 48);

/// `count` places follow, newest first.
struct request {
    little_uint32_buf_t count;
    little_uint32_buf_t reserved;
};
static_assert(sizeof(request) == 8);

/// `count` blocks follow: the bytes of each as 32 bits, then its encoding.
struct blocks {
    place parent; // of the first block; each further one follows the one before it
    little_uint32_buf_t count;
    little_uint32_buf_t reserved;
};
static_assert(sizeof(blocks) == 32 && offsetof(blocks, count) == 24);

struct caught_up {
    place head;
    little_uint32_buf_t is_end; // 1: no more will ever come; 0: more may come
    little_uint32_buf_t reserved;
};
static_assert(sizeof(caught_up) == 32 && offsetof(caught_up, is_end) == 24);

struct snapshot_request {
    std::array<std::byte, 32> digest; // of a chunk's content; all zero: the manifest
};
static_assert(sizeof(snapshot_request) == 32);

/// Bytes of the file follow, at most max_part. The parts of a file come in order.
struct snapshot_part {
    little_uint64_buf_t file_bytes; // of the whole file; 0: the server does not have it
    little_uint64_buf_t offset;
};
static_assert(sizeof(snapshot_part) == 16);

struct feed_request {
    std::array<char, 64> name;       // padded with zero bytes
    std::array<std::byte, 16> state; // the identity of the followed state; all zero: not known yet
    little_uint64_buf_t place;       // with feed_begin::place
    little_uint32_buf_t begin;       // feed_begin
    little_uint32_buf_t reserved;
};
static_assert(sizeof(feed_request) == 96 && offsetof(feed_request, place) == 80);

/// Bytes of a file of the feed follow, 1 to max_part.
struct feed_part {
    little_uint64_buf_t file;  // the place of the file's begin
    little_uint64_buf_t place; // of the first byte
};
static_assert(sizeof(feed_part) == sizeof(snapshot_part));

struct feed_state {
    std::array<std::byte, 16> state; // the identity of the followed state
    little_uint64_buf_t begin;       // the place of the client's cursor
    little_uint64_buf_t revision;    // there
    little_uint64_buf_t end;         // of what may be read
    little_uint32_buf_t writer;      // feed_writer
    little_uint32_buf_t reserved;
};
static_assert(sizeof(feed_state) == 48 && offsetof(feed_state, writer) == 40);

struct feed_keep {
    little_uint64_buf_t place;     // what is before it need not come again
    little_uint64_buf_t revision;  // there
    little_uint32_buf_t take_over; // 1: the client takes the state's place
    little_uint32_buf_t reserved;
};
static_assert(sizeof(feed_keep) == 24 && offsetof(feed_keep, take_over) == 16);

/// Bits of hello::offers.
enum offer : std::uint32_t { snapshot = 1, feed = 2, take_over = 4 };

/// Where a client's feed begins.
enum class feed_begin : std::uint32_t {
    snapshot = 1, ///< where the offered snapshot does: the client has no state yet
    cursor = 2,   ///< with the file that has its cursor's place: it has no files
    place = 3,    ///< at this place: it has what is before
};

/// What becomes of the followed state.
enum class feed_writer : std::uint32_t {
    works = 1,    ///< or starts
    killed = 2,   ///< ended without closing the state
    ended = 3,    ///< closed the state
    kept_out = 4, ///< the server keeps writers out, and the feed is whole: this client takes over
    lost = 5,     ///< the same, but the state cannot be opened: the feed has what it had told
    taken = 6,    ///< another client has taken over
};

/// Its text follows.
struct refusal {
    little_uint32_buf_t reason;
    little_uint32_buf_t reserved;
};
static_assert(sizeof(refusal) == 8);

/// Why a peer disconnects.
enum class refusal_reason : std::uint32_t {
    busy = 1,            ///< too many connections; try again later
    malformed = 2,       ///< a message violates the protocol
    wrong_version = 3,   ///< other protocol version
    wrong_chain = 4,     ///< other chain
    no_common_block = 5, ///< none of the client's blocks is known
    too_slow = 6,        ///< a time limit ran out
    ending = 7,          ///< the server shuts down
    too_far_behind = 8,  ///< the feed has not what the client needs; it begins anew
    no_take_over = 9,    ///< the state's writer works, another client took over, or nobody may
    other_state = 10,    ///< the feed is another state's
};

} // namespace chainbase::driver::wire

namespace chainbase::driver {

/// A peer's fault or failure. Ends its connection.
class peer_error : public error {
public:
    /// Whether to try the peer again.
    enum class severity {
        transient, ///< may recover: cut, slow, busy
        fault,     ///< violates the protocol, or its blocks break rules
        lasting,   ///< another chain, another version: trying again is useless
    };

    peer_error(severity how, const std::string& what) : error(what), how_(how) {}

    [[nodiscard]] severity how() const noexcept { return how_; }

private:
    severity how_;
};

/// The messages of the protocol as values, and as frames. Reading stays within the received bytes
/// and allocates nothing for claimed lengths; it throws peer_error naming the fault.

struct hello_message {
    std::string chain; ///< empty: any
    block_place first;
    block_place last;
    bool has_snapshot = false;  ///< a server that offers one
    bool has_feed = false;      ///< a server that offers one
    bool may_take_over = false; ///< whether its clients may take the followed state's place
};

struct request_message {
    std::vector<block_place> known; ///< newest first
};

struct caught_up_message {
    block_place head;
    bool is_end = false;
};

struct snapshot_request_message {
    sha256_digest digest{}; ///< of a chunk; zeros: the manifest
};

struct snapshot_part_message {
    std::uint64_t file_bytes = 0; ///< 0: the server does not have the file
    std::uint64_t offset = 0;
    byte_view content; ///< a view into the payload
};

struct feed_request_message {
    std::string name; ///< of the client's cursor
    checkpoint::slot_file::identity state{};
    wire::feed_begin begin{};
    std::uint64_t place = 0;
};

struct feed_part_message {
    std::uint64_t file = 0;
    std::uint64_t place = 0;
    byte_view content; ///< a view into the payload
};

struct feed_state_message {
    checkpoint::slot_file::identity state{};
    std::uint64_t begin = 0;
    std::int64_t revision = 0;
    std::uint64_t end = 0;
    wire::feed_writer writer{};

    bool operator==(const feed_state_message&) const = default;
};

struct feed_keep_message {
    std::uint64_t place = 0;
    std::int64_t revision = 0;
    bool takes_over = false;
};

struct refusal_message {
    wire::refusal_reason reason{};
    std::string text; ///< printable
};

/// @name Whole frames
/// @{
[[nodiscard]] bytes framed(const hello_message& value);
[[nodiscard]] bytes framed(const request_message& value);
[[nodiscard]] bytes framed(const caught_up_message& value);
[[nodiscard]] bytes framed(const refusal_message& value);
[[nodiscard]] bytes framed(const snapshot_request_message& value);
/// Requires a content of at most wire::max_part.
[[nodiscard]] bytes framed(const snapshot_part_message& value);
[[nodiscard]] bytes framed(const feed_request_message& value);
/// Requires a content of at most wire::max_part.
[[nodiscard]] bytes framed(const feed_part_message& value);
[[nodiscard]] bytes framed(const feed_state_message& value);
[[nodiscard]] bytes framed(const feed_keep_message& value);
[[nodiscard]] bytes framed_keepalive();
/// @}

/// @name Payloads
/// @{
[[nodiscard]] hello_message read_hello(byte_view payload);
[[nodiscard]] request_message read_request(byte_view payload);
[[nodiscard]] caught_up_message read_caught_up(byte_view payload);
[[nodiscard]] refusal_message read_refusal(byte_view payload);
[[nodiscard]] snapshot_request_message read_snapshot_request(byte_view payload);
/// Refuses parts that are empty or reach beyond their file.
[[nodiscard]] snapshot_part_message read_snapshot_part(byte_view payload);
[[nodiscard]] feed_request_message read_feed_request(byte_view payload);
/// Refuses one that is empty, or begins before its file.
[[nodiscard]] feed_part_message read_feed_part(byte_view payload);
[[nodiscard]] feed_state_message read_feed_state(byte_view payload);
[[nodiscard]] feed_keep_message read_feed_keep(byte_view payload);
/// @}

/// The header of a frame.
struct frame_start {
    wire::message type{};
    std::size_t payload_bytes = 0;
    std::uint64_t checksum = 0;
};
/// Refuses an unknown type and a payload above its type's maximum. Requires
/// sizeof(wire::frame_header) bytes.
[[nodiscard]] frame_start read_frame_start(byte_view header);
[[nodiscard]] std::uint64_t frame_checksum(byte_view payload, wire::message type);
void require_checksum(const frame_start& start, byte_view payload);

/// Makes a frame of consecutive blocks.
class blocks_builder {
public:
    explicit blocks_builder(const block_place& parent);

    void add(byte_view encoded);
    /// Whether a block of that size fits.
    [[nodiscard]] bool has_room_for(std::size_t encoded_bytes) const noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return frame_.size(); }
    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    /// The frame; no further calls are allowed.
    [[nodiscard]] bytes finish();

private:
    bytes frame_;
    std::uint32_t count_ = 0;
};

/// Parses the payload of such a frame.
class blocks_reader {
public:
    explicit blocks_reader(byte_view payload);

    [[nodiscard]] const block_place& parent() const noexcept { return parent_; }
    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    /// The next block's encoding, a view into the payload; nothing behind the last.
    [[nodiscard]] std::optional<byte_view> next();

private:
    byte_view payload_;
    std::size_t position_ = 0;
    std::uint32_t count_ = 0;
    std::uint32_t taken_ = 0;
    block_place parent_;
};

/// "block 17 (0123...)", for messages.
[[nodiscard]] std::string in_words(const block_place& place);

} // namespace chainbase::driver
