#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace chainbase {

namespace detail {

/// Two lower-case digits for each byte.
[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);
/// Fills `bytes` from as many pairs of hexadecimal digits, upper or lower case, behind an optional
/// "0x". Throws usage_error naming an invalid character, or the wrong length.
void parse_hex(std::string_view text, std::span<std::byte> bytes);
/// Throws usage_error: `given` bytes instead of `wanted`.
[[noreturn]] void throw_other_length(std::size_t given, std::size_t wanted);

} // namespace detail

/// N bytes of any value: a hash, a public key, a 256-bit identity.
///
/// Trivially copyable, so it can be a field of a shared object and a part of a key. Orders as
/// memcmp does. The tools print and accept it as hexadecimal digits.
template <std::size_t N>
class fixed_bytes {
    static_assert(N > 0, "fixed_bytes has at least a byte");

public:
    using value_type = std::byte;
    static constexpr std::size_t bytes = N;

    /// All zero.
    constexpr fixed_bytes() = default;
    constexpr explicit fixed_bytes(const std::array<std::byte, N>& from) noexcept : bytes_(from) {}
    /// Copies a span of std::byte, char or unsigned char. Throws usage_error when there are not
    /// exactly N.
    template <typename Byte, std::size_t Extent>
        requires(sizeof(Byte) == 1)
    explicit fixed_bytes(std::span<Byte, Extent> from) {
        if (from.size() != N) detail::throw_other_length(from.size(), N);
        std::memcpy(bytes_.data(), from.data(), N);
    }
    /// From 2 * N hexadecimal digits, upper or lower case, behind an optional "0x". Throws
    /// usage_error naming what is wrong with the text.
    [[nodiscard]] static fixed_bytes parse(std::string_view hex) {
        fixed_bytes made;
        detail::parse_hex(hex, made.bytes_);
        return made;
    }
    /// 2 * N lower-case digits.
    [[nodiscard]] std::string hex() const { return detail::to_hex(bytes_); }

    [[nodiscard]] static constexpr std::size_t size() noexcept { return N; }
    [[nodiscard]] constexpr const std::byte* data() const noexcept { return bytes_.data(); }
    [[nodiscard]] constexpr std::byte* data() noexcept { return bytes_.data(); }
    [[nodiscard]] constexpr auto begin() const noexcept { return bytes_.begin(); }
    [[nodiscard]] constexpr auto end() const noexcept { return bytes_.end(); }
    [[nodiscard]] constexpr std::byte operator[](std::size_t i) const noexcept { return bytes_[i]; }
    [[nodiscard]] constexpr std::byte& operator[](std::size_t i) noexcept { return bytes_[i]; }

    friend bool operator==(const fixed_bytes& a, const fixed_bytes& b) noexcept {
        return std::memcmp(a.data(), b.data(), N) == 0;
    }
    friend std::strong_ordering operator<=>(const fixed_bytes& a, const fixed_bytes& b) noexcept {
        return std::memcmp(a.data(), b.data(), N) <=> 0;
    }

private:
    std::array<std::byte, N> bytes_{};
};

} // namespace chainbase
