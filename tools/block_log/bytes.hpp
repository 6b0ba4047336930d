#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace chainbase {

/// Owned bytes, such as one encoded operation.
using bytes = std::vector<std::byte>;

/// Bytes owned elsewhere.
using byte_view = std::span<const std::byte>;

/// The bytes of `text`; valid as long as the text.
[[nodiscard]] inline byte_view bytes_of(std::string_view text) noexcept {
    return std::as_bytes(std::span(text));
}

/// `view` read as text; valid as long as the bytes.
[[nodiscard]] inline std::string_view text_of(byte_view view) noexcept {
    return {reinterpret_cast<const char*>(view.data()), view.size()};
}

/// The bytes of a value that has the same layout in memory and in a file; valid as long as the
/// value.
template <class T>
    requires std::is_trivially_copyable_v<T>
[[nodiscard]] byte_view view_of(const T& value) noexcept {
    return std::as_bytes(std::span(&value, 1));
}
template <class T>
    requires std::is_trivially_copyable_v<T>
[[nodiscard]] std::span<std::byte> writable_view_of(T& value) noexcept {
    return std::as_writable_bytes(std::span(&value, 1));
}

/// The T whose bytes begin at `position`. Requires that the view holds all of them.
template <class T>
    requires std::is_trivially_copyable_v<T>
[[nodiscard]] T load(byte_view from, std::size_t position = 0) noexcept {
    T result;
    std::memcpy(&result, from.data() + position, sizeof(T));
    return result;
}

/// XXH3-64 of the bytes: finds damage, not forgery.
[[nodiscard]] std::uint64_t checksum(byte_view data) noexcept;

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

/// Takes values off the front of bytes that `byte_writer` wrote.
///
/// Never reads outside the input, whatever it holds: every call either returns a value or throws
/// damaged_error, whose message is "<name>: byte <position> of <size>: <reason>". Only the shortest
/// encoding of a number is accepted, so that whatever decodes encodes back to the same bytes. Does
/// not own the input. Not thread-safe.
class byte_reader {
public:
    byte_reader(byte_view input, std::string name) : input_(input), name_(std::move(name)) {}

    /// Names the input in messages from now on, such as "block 17".
    void rename(std::string name) { name_ = std::move(name); }

    [[nodiscard]] std::size_t position() const noexcept { return position_; }
    [[nodiscard]] std::size_t remaining() const noexcept { return input_.size() - position_; }
    /// The bytes not read yet; valid as long as the input.
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

    /// A count of elements that follow. Each takes at least one byte, so a count above the
    /// remaining bytes is refused before anything is allocated for it.
    std::size_t count() {
        const std::uint64_t elements = unsigned_number();
        if (elements > remaining())
            fail("count " + std::to_string(elements) + " exceeds the bytes left");
        return elements;
    }

    /// How many of `elements` to reserve memory for when one usually takes `usual` bytes: a hostile
    /// count may be as large as the remaining bytes, and each decoded element may be large.
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

    /// Throws damaged_error when bytes are left over.
    void finish() const {
        if (remaining() > 0) fail("unexpected bytes at the end");
    }

    [[noreturn]] void fail(const std::string& reason) const;

private:
    std::uint64_t long_number(std::uint64_t most);

    byte_view input_;
    std::size_t position_ = 0;
    std::string name_;
};

} // namespace chainbase
