#pragma once

#include <tools/block_log/bytes.hpp>

#include <cstdint>

namespace chainbase {

/// Appends encoded values to a byte vector that the caller owns and that must outlive the writer.
///
/// Unsigned numbers are LEB128 varints (seven bits a byte, lowest first), signed ones are folded
/// (0, -1, 1, -2, ... become 0, 1, 2, 3, ...) and then written the same way, byte strings carry
/// their length in front. Every value has exactly one encoding; `byte_reader` refuses all others.
/// Throws nothing but std::bad_alloc. Not thread-safe.
class byte_writer {
public:
    explicit byte_writer(bytes& out) noexcept : out_(out) {}

    void unsigned_number(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7)
            out_.push_back(static_cast<std::byte>(value | 0x80));
        out_.push_back(static_cast<std::byte>(value));
    }

    void signed_number(std::int64_t value) {
        const auto sign = static_cast<std::uint64_t>(value >> 63);
        unsigned_number((static_cast<std::uint64_t>(value) << 1) ^ sign);
    }

    void byte_string(byte_view value) {
        unsigned_number(value.size());
        out_.insert(out_.end(), value.begin(), value.end());
    }

private:
    bytes& out_;
};

} // namespace chainbase
