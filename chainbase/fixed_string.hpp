#pragma once

#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace chainbase {

namespace detail {

/// Throws usage_error: a text that does not fit `capacity` bytes.
[[noreturn]] void throw_no_fit(std::string_view text, std::size_t capacity);

} // namespace detail

/// Text of at most N bytes kept inside the object, padded with zero bytes; N is a multiple of 8.
///
/// Trivially copyable, so it can be a field of a shared object and a key. Orders as the bytes do
/// (unsigned), compared eight at a time. The text itself must not contain a zero byte.
template <std::size_t N>
class fixed_string {
    static_assert(N > 0 && N % 8 == 0, "fixed_string keeps whole 8-byte words");

public:
    static constexpr std::size_t capacity = N;

    constexpr fixed_string() = default;

    /// Whether `text` has at most N bytes, none of them zero.
    [[nodiscard]] static bool fits(std::string_view text) noexcept {
        return text.size() <= N && text.find('\0') == std::string_view::npos;
    }
    /// Throws usage_error when `text` does not fit.
    template <typename Text>
        requires(!std::derived_from<Text, fixed_string> &&
                 std::convertible_to<const Text&, std::string_view>)
    fixed_string(const Text& from) {
        const std::string_view text = from;
        if (!fits(text)) detail::throw_no_fit(text, N);
        std::memcpy(words_.data(), text.data(), text.size());
    }
    /// From a text that fits(), unchecked.
    [[nodiscard]] static fixed_string of_fitting(std::string_view text) noexcept {
        fixed_string made;
        std::memcpy(made.words_.data(), text.data(), text.size());
        return made;
    }

    /// The text without its padding; valid as long as this object.
    [[nodiscard]] std::string_view view() const noexcept {
        const char* bytes = reinterpret_cast<const char*>(words_.data());
        return {bytes, strnlen(bytes, N)};
    }
    operator std::string_view() const noexcept { return view(); }

    /// The text as words, the first byte in the lowest bits; equal exactly when the texts are.
    [[nodiscard]] const auto& words() const noexcept { return words_; }

    /// Compares word by word: as the default, but inlined.
    friend bool operator==(const fixed_string& a, const fixed_string& b) noexcept {
        std::uint64_t difference = 0;
        for (std::size_t i = 0; i < word_count; ++i)
            difference |= a.words_[i] ^ b.words_[i];
        return difference == 0;
    }
    friend std::strong_ordering operator<=>(const fixed_string& a, const fixed_string& b) noexcept {
        for (std::size_t i = 0; i + 1 < word_count; ++i)
            if (a.words_[i] != b.words_[i]) return a.ordered(i) <=> b.ordered(i);
        return a.ordered(word_count - 1) <=> b.ordered(word_count - 1);
    }

private:
    static constexpr std::size_t word_count = N / 8;

    [[nodiscard]] std::uint64_t ordered(std::size_t i) const noexcept {
        if constexpr (std::endian::native == std::endian::little)
            return __builtin_bswap64(words_[i]);
        else
            return words_[i];
    }

    std::array<std::uint64_t, word_count> words_{};
};

} // namespace chainbase
