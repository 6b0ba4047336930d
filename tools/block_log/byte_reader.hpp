#pragma once

#include <pool_allocator/error.hpp>
#include <tools/block_log/bytes.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace chainbase {

/// Takes values off the front of bytes that `byte_writer` wrote.
///
/// Never reads outside the input, whatever it holds: every call either returns a value or throws
/// damaged_error, whose message is "<name>: byte <position> of <size>: <reason>". Only the shortest
/// encoding of a number is accepted, so that whatever decodes encodes back to the same bytes. Does
/// not own the input. Not thread-safe.
class byte_reader {
public:
    byte_reader(byte_view input, std::string name) : input_(input), name_(std::move(name)) {}

    /// What the messages call the input from now on, such as "block 17".
    void rename(std::string name) { name_ = std::move(name); }

    [[nodiscard]] std::size_t position() const noexcept { return position_; }
    [[nodiscard]] std::size_t remaining() const noexcept { return input_.size() - position_; }
    /// What was not taken yet; valid as long as the input.
    [[nodiscard]] byte_view rest() const noexcept { return input_.subspan(position_); }

    /// The next number; refuses one above `most`.
    std::uint64_t unsigned_number(std::uint64_t most = UINT64_MAX) {
        if (remaining() > 0) { // most numbers take one byte
            const auto value = std::to_integer<std::uint64_t>(input_[position_]);
            if (value < 0x80 && value <= most) {
                ++position_;
                return value;
            }
        }
        return long_number(most);
    }

    std::int64_t signed_number() {
        const std::uint64_t folded = unsigned_number();
        return static_cast<std::int64_t>((folded >> 1) ^ (0 - (folded & 1)));
    }

    /// A number of elements that follow; since each takes at least one byte, a count above the
    /// remaining bytes is refused before anything is allocated for it.
    std::size_t count() {
        const std::uint64_t elements = unsigned_number();
        if (elements > remaining())
            fail("count " + std::to_string(elements) + " exceeds the bytes left");
        return elements;
    }

    /// How many of `elements` to make room for ahead, when one of them usually takes `usual` bytes:
    /// a count may state as many as there are bytes left, and what is made of each may be large.
    [[nodiscard]] std::size_t likely(std::size_t elements, std::size_t usual) const noexcept {
        return std::min(elements, remaining() / usual + 1);
    }

    /// A byte string, as a view into the input.
    byte_view byte_string() {
        const std::size_t size = count();
        const byte_view view = input_.subspan(position_, size);
        position_ += size;
        return view;
    }

    /// Throws when anything is left over.
    void finish() const {
        if (remaining() > 0) fail("unexpected bytes at the end");
    }

    [[noreturn]] void fail(const std::string& reason) const {
        throw damaged_error(name_ + ": byte " + std::to_string(position_) + " of " +
                            std::to_string(input_.size()) + ": " + reason);
    }

private:
    std::uint64_t long_number(std::uint64_t most) {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto part = std::to_integer<std::uint64_t>(next());
            if (shift == 63 && part > 1) fail("a number longer than 64 bits");
            if (shift > 0 && part == 0) fail("a number that is not in its shortest form");
            value |= (part & 0x7f) << shift;
            if (part < 0x80) break;
        }
        if (value > most) fail("number " + std::to_string(value) + " is out of range");
        return value;
    }

    std::byte next() {
        if (remaining() == 0) fail("ends in the middle of a value");
        return input_[position_++];
    }

    byte_view input_;
    std::size_t position_ = 0;
    std::string name_;
};

} // namespace chainbase
