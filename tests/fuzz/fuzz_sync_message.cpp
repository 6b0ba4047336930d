// Any bytes as a peer's message: a byte that selects the message, then its payload, or the header
// of a frame. It is parsed, or peer_error names the fault.

#include <tools/driver/sync/messages.hpp>

#include <algorithm>
#include <cstdlib>
#include <span>

using namespace chainbase;
using namespace chainbase::driver;

namespace {

byte_view payload_of(const bytes& frame) {
    return byte_view(frame).subspan(sizeof(wire::frame_header));
}

/// Parsing and writing again gives an equal message. (Unused words may differ.)
template <typename Read>
void require_same(Read read, byte_view payload) {
    const bytes once = framed(read(payload));
    if (framed(read(payload_of(once))) != once) std::abort();
}

void read_blocks(byte_view payload) {
    blocks_reader reader(payload);
    std::uint32_t count = 0;
    while (const auto encoded = reader.next()) {
        ++count;
        try {
            (void)decode_block(*encoded);
        } catch (const damaged_error&) { // expected
        }
    }
    if (count != reader.count()) std::abort();
}

void read_as(wire::message type, byte_view payload) {
    switch (type) {
    case wire::message::hello:
        return require_same(read_hello, payload);
    case wire::message::request:
        return require_same(read_request, payload);
    case wire::message::blocks:
        return read_blocks(payload);
    case wire::message::caught_up:
        return require_same(read_caught_up, payload);
    case wire::message::refusal:
        return require_same(read_refusal, payload);
    case wire::message::snapshot_request:
        return require_same(read_snapshot_request, payload);
    case wire::message::snapshot_part:
        return require_same(read_snapshot_part, payload);
    case wire::message::feed_request:
        return require_same(read_feed_request, payload);
    case wire::message::feed_part:
        return require_same(read_feed_part, payload);
    case wire::message::feed_state:
        return require_same(read_feed_state, payload);
    case wire::message::feed_keep:
        return require_same(read_feed_keep, payload);
    default:
        if (payload.size() < sizeof(wire::frame_header)) return;
        const frame_start start = read_frame_start(payload.first(sizeof(wire::frame_header)));
        if (start.payload_bytes > wire::max_payload) std::abort();
        require_checksum(start, payload.subspan(sizeof(wire::frame_header)));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    try {
        read_as(static_cast<wire::message>(data[0] % 13),
                std::as_bytes(std::span(data + 1, size - 1)));
    } catch (const peer_error&) { // expected
    }
    return 0;
}
