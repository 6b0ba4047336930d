#pragma once

#include <tools/block_log/bytes.hpp>
#include <tools/driver/chain_state.hpp>
#include <tools/driver/sync/peer_error.hpp>
#include <tools/driver/sync/protocol.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The messages of the protocol as values, and as frames. Reading never looks outside of what came
/// and takes no memory for what is only claimed; it throws peer_error saying what is wrong.
namespace chainbase::driver {

struct hello_message {
    std::string chain; ///< empty: any
    block_place first;
    block_place last;
};

struct request_message {
    std::vector<block_place> known; ///< the newest first
};

struct caught_up_message {
    block_place head;
    bool is_end = false;
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
[[nodiscard]] bytes framed_keepalive();
/// @}

/// @name Payloads
/// @{
[[nodiscard]] hello_message read_hello(byte_view payload);
[[nodiscard]] request_message read_request(byte_view payload);
[[nodiscard]] caught_up_message read_caught_up(byte_view payload);
[[nodiscard]] refusal_message read_refusal(byte_view payload);
/// @}

/// The header of a frame.
struct frame_start {
    wire::message type{};
    std::size_t payload_bytes = 0;
    std::uint64_t checksum = 0;
};
/// Refuses an unknown type and a payload that is larger than its type may have. Requires
/// sizeof(wire::frame_header) bytes.
[[nodiscard]] frame_start read_frame_start(byte_view header);
[[nodiscard]] std::uint64_t frame_checksum(byte_view payload, wire::message type);
void require_checksum(const frame_start& start, byte_view payload);

/// Makes the frame of blocks that follow each other.
class blocks_builder {
public:
    explicit blocks_builder(const block_place& parent);

    void add(byte_view encoded);
    /// Whether another block of that size may be added.
    [[nodiscard]] bool has_room_for(std::size_t encoded_bytes) const noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return frame_.size(); }
    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    /// The frame; nothing may be called afterwards.
    [[nodiscard]] bytes finish();

private:
    bytes frame_;
    std::uint32_t count_ = 0;
};

/// Takes such a frame's payload apart.
class blocks_reader {
public:
    explicit blocks_reader(byte_view payload);

    [[nodiscard]] const block_place& parent() const noexcept { return parent_; }
    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    /// The next block's encoding, within the payload; nothing behind the last.
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
