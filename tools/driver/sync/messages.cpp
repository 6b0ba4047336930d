#include <tools/driver/sync/messages.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace chainbase::driver {

namespace {

using wire::message;

[[noreturn]] void malformed(const std::string& what) {
    throw peer_error(peer_error::severity::fault, what);
}

wire::place packed(const block_place& from) {
    wire::place to;
    to.number = from.number;
    to.id_high = from.id.high;
    to.id_low = from.id.low;
    return to;
}

block_place unpacked(const wire::place& from) {
    return {from.number.value(), {from.id_high.value(), from.id_low.value()}};
}

template <typename Struct>
void append(bytes& to, const Struct& value) {
    const std::size_t at = to.size();
    to.resize(at + sizeof value);
    std::memcpy(to.data() + at, &value, sizeof value);
}

/// A frame for a payload to be appended; seal() fills in its header.
bytes begun_frame() {
    return bytes(sizeof(wire::frame_header));
}

bytes sealed(bytes frame, message type) {
    const byte_view payload = byte_view(frame).subspan(sizeof(wire::frame_header));
    wire::frame_header header;
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    header.type = static_cast<std::uint32_t>(type);
    header.checksum = frame_checksum(payload, type);
    std::memcpy(frame.data(), &header, sizeof header);
    return frame;
}

template <typename Struct>
Struct front_of(byte_view payload, const char* name) {
    if (payload.size() < sizeof(Struct))
        malformed(std::string(name) + " of " + std::to_string(payload.size()) +
                  " bytes, which has at least " + std::to_string(sizeof(Struct)));
    return load<Struct>(payload);
}

void require_size(byte_view payload, std::size_t size, const char* name) {
    if (payload.size() != size)
        malformed(std::string(name) + " of " + std::to_string(payload.size()) + " bytes, not of " +
                  std::to_string(size));
}

std::string printable(byte_view text) {
    std::string result(text_of(text.first(std::min(text.size(), wire::max_reason))));
    std::ranges::replace_if(result, [](unsigned char c) { return c < 32 || c > 126; }, '?');
    return result;
}

} // namespace

std::string in_words(const block_place& place) {
    return "block " + std::to_string(place.number) + " (" + to_string(place.id) + ")";
}

std::uint64_t frame_checksum(byte_view payload, message type) {
    const auto seed = std::uint64_t(type) << 32 | payload.size();
    return XXH3_64bits_withSeed(payload.data(), payload.size(), seed);
}

// --- frames ---

bytes framed(const hello_message& value) {
    wire::hello payload{};
    payload.magic = wire::magic;
    payload.version = wire::version;
    payload.offers = (value.has_snapshot ? wire::offer::snapshot : 0U) |
                     (value.has_feed ? wire::offer::feed : 0U) |
                     (value.may_take_over ? wire::offer::take_over : 0U);
    std::ranges::copy(value.chain.substr(0, payload.chain.size()), payload.chain.begin());
    payload.first = packed(value.first);
    payload.last = packed(value.last);
    bytes frame = begun_frame();
    append(frame, payload);
    return sealed(std::move(frame), message::hello);
}

bytes framed(const request_message& value) {
    const std::size_t count = std::min(value.known.size(), wire::max_known_blocks);
    wire::request payload{};
    payload.count = static_cast<std::uint32_t>(count);
    bytes frame = begun_frame();
    append(frame, payload);
    for (std::size_t i = 0; i < count; ++i)
        append(frame, packed(value.known[i]));
    return sealed(std::move(frame), message::request);
}

bytes framed(const caught_up_message& value) {
    wire::caught_up payload{};
    payload.head = packed(value.head);
    payload.is_end = value.is_end ? 1 : 0;
    bytes frame = begun_frame();
    append(frame, payload);
    return sealed(std::move(frame), message::caught_up);
}

bytes framed(const refusal_message& value) {
    wire::refusal payload{};
    payload.reason = static_cast<std::uint32_t>(value.reason);
    bytes frame = begun_frame();
    append(frame, payload);
    const byte_view text = bytes_of(value.text);
    const byte_view kept = text.first(std::min(text.size(), wire::max_reason));
    frame.insert(frame.end(), kept.begin(), kept.end());
    return sealed(std::move(frame), message::refusal);
}

bytes framed(const snapshot_request_message& value) {
    bytes frame = begun_frame();
    append(frame, wire::snapshot_request{value.digest});
    return sealed(std::move(frame), message::snapshot_request);
}

bytes framed(const snapshot_part_message& value) {
    wire::snapshot_part payload{};
    payload.file_bytes = value.file_bytes;
    payload.offset = value.offset;
    bytes frame = begun_frame();
    append(frame, payload);
    frame.insert(frame.end(), value.content.begin(), value.content.end());
    return sealed(std::move(frame), message::snapshot_part);
}

bytes framed(const feed_request_message& value) {
    wire::feed_request payload{};
    std::ranges::copy(value.name.substr(0, payload.name.size()), payload.name.begin());
    payload.state = value.state;
    payload.begin = static_cast<std::uint32_t>(value.begin);
    payload.place = value.place;
    bytes frame = begun_frame();
    append(frame, payload);
    return sealed(std::move(frame), message::feed_request);
}

bytes framed(const feed_part_message& value) {
    wire::feed_part payload{};
    payload.file = value.file;
    payload.place = value.place;
    bytes frame = begun_frame();
    append(frame, payload);
    frame.insert(frame.end(), value.content.begin(), value.content.end());
    return sealed(std::move(frame), message::feed_part);
}

bytes framed(const feed_state_message& value) {
    wire::feed_state payload{};
    payload.state = value.state;
    payload.begin = value.begin;
    payload.revision = static_cast<std::uint64_t>(value.revision);
    payload.end = value.end;
    payload.writer = static_cast<std::uint32_t>(value.writer);
    bytes frame = begun_frame();
    append(frame, payload);
    return sealed(std::move(frame), message::feed_state);
}

bytes framed(const feed_keep_message& value) {
    wire::feed_keep payload{};
    payload.place = value.place;
    payload.revision = static_cast<std::uint64_t>(value.revision);
    payload.take_over = value.takes_over ? 1 : 0;
    bytes frame = begun_frame();
    append(frame, payload);
    return sealed(std::move(frame), message::feed_keep);
}

bytes framed_keepalive() {
    return sealed(begun_frame(), message::keepalive);
}

// --- payloads ---

hello_message read_hello(byte_view payload) {
    constexpr std::size_t kept_by_all_versions = offsetof(wire::hello, chain);
    wire::hello read{};
    if (!payload.empty()) std::memcpy(&read, payload.data(), std::min(payload.size(), sizeof read));
    if (payload.size() < kept_by_all_versions || read.magic != wire::magic)
        malformed("does not speak this protocol (its hello begins with other bytes)");
    if (read.version.value() != wire::version)
        throw peer_error(peer_error::severity::lasting,
                         "speaks version " + std::to_string(read.version.value()) +
                             " of the protocol, this program speaks " +
                             std::to_string(wire::version) + "; use the same program at both ends");
    require_size(payload, sizeof read, "a hello");
    const std::size_t length = strnlen(read.chain.data(), read.chain.size());
    const std::uint32_t offers = read.offers.value();
    hello_message result{{read.chain.data(), length},
                         unpacked(read.first),
                         unpacked(read.last),
                         (offers & wire::offer::snapshot) != 0,
                         (offers & wire::offer::feed) != 0,
                         (offers & wire::offer::take_over) != 0};
    if (printable(bytes_of(result.chain)) != result.chain)
        malformed("names its chain in bytes that are not text");
    return result;
}

request_message read_request(byte_view payload) {
    const auto front = front_of<wire::request>(payload, "a request");
    const std::size_t count = front.count.value();
    if (count == 0 || count > wire::max_known_blocks)
        malformed("a request that names " + std::to_string(count) + " blocks, not 1 to " +
                  std::to_string(wire::max_known_blocks));
    require_size(payload, sizeof front + count * sizeof(wire::place), "a request");
    request_message result;
    for (std::size_t i = 0; i < count; ++i)
        result.known.push_back(
            unpacked(load<wire::place>(payload, sizeof front + i * sizeof(wire::place))));
    return result;
}

caught_up_message read_caught_up(byte_view payload) {
    require_size(payload, sizeof(wire::caught_up), "a message of being caught up");
    const auto read = load<wire::caught_up>(payload);
    return {unpacked(read.head), read.is_end.value() != 0};
}

refusal_message read_refusal(byte_view payload) {
    const auto front = front_of<wire::refusal>(payload, "a refusal");
    return {static_cast<wire::refusal_reason>(front.reason.value()),
            printable(payload.subspan(sizeof front))};
}

snapshot_request_message read_snapshot_request(byte_view payload) {
    require_size(payload, sizeof(wire::snapshot_request), "a request for a file of a snapshot");
    return {load<wire::snapshot_request>(payload).digest};
}

snapshot_part_message read_snapshot_part(byte_view payload) {
    const auto front = front_of<wire::snapshot_part>(payload, "a part of a file");
    const snapshot_part_message result{front.file_bytes.value(), front.offset.value(),
                                       payload.subspan(sizeof front)};
    const bool is_none = result.file_bytes == 0;
    if (result.content.empty() != is_none || result.offset > result.file_bytes ||
        result.content.size() > result.file_bytes - result.offset)
        malformed(std::to_string(result.content.size()) + " bytes at byte " +
                  std::to_string(result.offset) + " of a file that has " +
                  std::to_string(result.file_bytes));
    return result;
}

feed_request_message read_feed_request(byte_view payload) {
    require_size(payload, sizeof(wire::feed_request), "a request for a feed");
    const auto read = load<wire::feed_request>(payload);
    const std::size_t length = strnlen(read.name.data(), read.name.size());
    feed_request_message result{{read.name.data(), length},
                                read.state,
                                static_cast<wire::feed_begin>(read.begin.value()),
                                read.place.value()};
    if (result.begin < wire::feed_begin::snapshot || result.begin > wire::feed_begin::place)
        malformed("a request for a feed from " + std::to_string(read.begin.value()) +
                  ", which is no place to begin");
    if (result.name.empty() || printable(bytes_of(result.name)) != result.name)
        malformed("a request for a feed by a name that is empty or no text");
    return result;
}

feed_part_message read_feed_part(byte_view payload) {
    const auto front = front_of<wire::feed_part>(payload, "a part of a feed");
    const feed_part_message result{front.file.value(), front.place.value(),
                                   payload.subspan(sizeof front)};
    if (result.content.empty() || result.place < result.file ||
        result.place > UINT64_MAX - result.content.size())
        malformed(std::to_string(result.content.size()) + " bytes at place " +
                  std::to_string(result.place) + " of a feed's file that begins at " +
                  std::to_string(result.file));
    return result;
}

feed_state_message read_feed_state(byte_view payload) {
    require_size(payload, sizeof(wire::feed_state), "the state of a feed");
    const auto read = load<wire::feed_state>(payload);
    feed_state_message result{read.state, read.begin.value(),
                              static_cast<std::int64_t>(read.revision.value()), read.end.value(),
                              static_cast<wire::feed_writer>(read.writer.value())};
    if (result.writer < wire::feed_writer::works || result.writer > wire::feed_writer::taken)
        malformed("the state " + std::to_string(read.writer.value()) + " of a feed's writer");
    return result;
}

feed_keep_message read_feed_keep(byte_view payload) {
    require_size(payload, sizeof(wire::feed_keep), "what a client needs of a feed");
    const auto read = load<wire::feed_keep>(payload);
    return {read.place.value(), static_cast<std::int64_t>(read.revision.value()),
            read.take_over.value() != 0};
}

// --- headers ---

frame_start read_frame_start(byte_view header) {
    const auto read = load<wire::frame_header>(header);
    const std::uint32_t type = read.type.value();
    if (type < std::uint32_t(message::hello) || type > std::uint32_t(message::feed_keep))
        malformed("a message of the unknown type " + std::to_string(type));
    const frame_start start{static_cast<message>(type), read.payload_bytes.value(),
                            read.checksum.value()};
    const std::size_t most =
        start.type == message::blocks ? wire::max_payload
        : start.type == message::snapshot_part || start.type == message::feed_part
            ? sizeof(wire::snapshot_part) + wire::max_part
            : wire::max_small_payload;
    if (start.payload_bytes > most)
        malformed("a message of " + std::to_string(start.payload_bytes) + " bytes, of at most " +
                  std::to_string(most));
    return start;
}

void require_checksum(const frame_start& start, byte_view payload) {
    if (frame_checksum(payload, start.type) != start.checksum)
        malformed("a message of " + std::to_string(start.payload_bytes) +
                  " bytes with a wrong checksum");
}

// --- blocks ---

blocks_builder::blocks_builder(const block_place& parent) : frame_(begun_frame()) {
    wire::blocks front{};
    front.parent = packed(parent);
    append(frame_, front);
}

bool blocks_builder::has_room_for(std::size_t encoded_bytes) const noexcept {
    return frame_.size() + sizeof(std::uint32_t) + encoded_bytes <=
           sizeof(wire::frame_header) + wire::max_payload;
}

void blocks_builder::add(byte_view encoded) {
    wire::little_uint32_buf_t size;
    size = static_cast<std::uint32_t>(encoded.size());
    append(frame_, size);
    frame_.insert(frame_.end(), encoded.begin(), encoded.end());
    ++count_;
}

bytes blocks_builder::finish() {
    wire::little_uint32_buf_t count;
    count = count_;
    std::memcpy(frame_.data() + sizeof(wire::frame_header) + offsetof(wire::blocks, count), &count,
                sizeof count);
    return sealed(std::move(frame_), message::blocks);
}

blocks_reader::blocks_reader(byte_view payload) : payload_(payload) {
    const auto front = front_of<wire::blocks>(payload, "blocks");
    position_ = sizeof front;
    count_ = front.count.value();
    parent_ = unpacked(front.parent);
    const std::size_t left = payload.size() - position_;
    if (count_ == 0 || count_ > left / sizeof(std::uint32_t))
        malformed("a message of " + std::to_string(count_) + " blocks in " + std::to_string(left) +
                  " bytes");
}

std::optional<byte_view> blocks_reader::next() {
    if (taken_ == count_) {
        if (position_ != payload_.size())
            malformed("bytes after the last of " + std::to_string(count_) + " blocks");
        return std::nullopt;
    }
    const byte_view rest = payload_.subspan(position_);
    const std::size_t size = rest.size() < sizeof(std::uint32_t)
                                 ? SIZE_MAX
                                 : load<wire::little_uint32_buf_t>(rest).value();
    if (size == SIZE_MAX || size > rest.size() - sizeof(std::uint32_t))
        malformed("block " + std::to_string(taken_ + 1) + " of " + std::to_string(count_) +
                  " reaches beyond its message");
    position_ += sizeof(std::uint32_t) + size;
    ++taken_;
    return rest.subspan(sizeof(std::uint32_t), size);
}

} // namespace chainbase::driver
