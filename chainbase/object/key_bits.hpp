#pragma once

#include <chainbase/key_value.hpp>
#include <pool_allocator/btree.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

/// Values as bits whose order is theirs: what a btree key keeps. The catalogue's readers write the
/// same bits (object/key_reader.hpp).
namespace chainbase::detail {

/// Writes the parts of a key one behind the other, up to a number of bits, a multiple of 64.
class key_bits {
public:
    constexpr explicit key_bits(std::size_t most = btree::max_bits) noexcept : most_(most) {}

    /// The lowest `bits` of `value`, at most 64, turned if they are descending.
    constexpr void append(std::uint64_t value, unsigned bits, bool is_descending) noexcept {
        if (bits == 0 || bits_ >= most_) return;
        if (is_descending) value = ~value;
        value <<= word_bits - bits;
        const std::size_t word = bits_ / word_bits;
        const unsigned offset = bits_ % word_bits;
        key_[word] |= value >> offset;
        if (offset != 0 && word + 1 < most_ / word_bits)
            key_[word + 1] |= value << (word_bits - offset);
        bits_ += bits;
    }
    /// Sets all bits behind those appended: the last key that begins with them.
    void fill() noexcept {
        for (std::size_t word = bits_ / word_bits; word < key_.size(); ++word)
            key_[word] |= word == bits_ / word_bits ? ~std::uint64_t{0} >> bits_ % word_bits
                                                    : ~std::uint64_t{0};
        bits_ = btree::max_bits;
    }
    [[nodiscard]] const btree_key& key() const noexcept { return key_; }
    /// How many bytes more count.
    [[nodiscard]] constexpr std::size_t room() const noexcept {
        return bits_ < most_ ? (most_ - bits_ + 7) / 8 : 0;
    }

private:
    static constexpr unsigned word_bits = 64;

    btree_key key_{};
    std::size_t most_;
    std::size_t bits_ = 0;
};

/// Writes all of a key of any length, whose parts have whole bytes.
class key_bytes {
public:
    key_bytes() { key_.reserve(usual_bytes); }
    void append(std::uint64_t value, unsigned bits, bool is_descending) {
        if (is_descending) value = ~value;
        while (bits != 0)
            key_.push_back(static_cast<char>(value >> (bits -= 8)));
    }
    void append(std::string_view bytes, bool is_descending) {
        key_.append(bytes);
        if (!is_descending) return;
        for (std::size_t at = key_.size() - bytes.size(); at < key_.size(); ++at)
            key_[at] = static_cast<char>(~key_[at]);
    }
    [[nodiscard]] std::string& key() noexcept { return key_; }

private:
    static constexpr std::size_t usual_bytes = 80;

    std::string key_;
};

/// An integer of so many bits in two's complement, up to 64.
template <typename Writer>
constexpr void append_number(Writer& to, std::uint64_t value, unsigned bits, bool is_signed,
                             bool is_descending) {
    if (is_signed) value ^= std::uint64_t{1} << (bits - 1);
    to.append(value, bits, is_descending);
}

/// Bytes in the order of memcmp.
inline void append_bytes(key_bytes& to, const void* from, std::size_t bytes, bool is_descending) {
    to.append({static_cast<const char*>(from), bytes}, is_descending);
}
inline void append_bytes(key_bits& to, const void* from, std::size_t bytes, bool is_descending) {
    const auto* at = static_cast<const std::byte*>(from);
    bytes = std::min(bytes, to.room());
    for (; bytes >= 8; bytes -= 8, at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, 8);
        to.append(__builtin_bswap64(word), 64, is_descending);
    }
    for (; bytes != 0; --bytes, ++at)
        to.append(std::to_integer<std::uint64_t>(*at), 8, is_descending);
}

/// A text, which ends with two zeros; a zero in it is followed by 255.
template <typename Writer>
void append_text(Writer& to, std::string_view text, bool is_descending) {
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t zero = std::min(text.find('\0', begin), text.size());
        append_bytes(to, text.data() + begin, zero - begin, is_descending);
        if (zero < text.size()) to.append(0x00ff, 16, is_descending);
        begin = zero + 1;
    }
    to.append(0, 16, is_descending);
}

template <typename V>
inline constexpr bool is_shared_text = std::derived_from<V, shared_string>;

/// Whether a btree key can have a part of V.
template <typename V>
constexpr bool has_bits() {
    if constexpr (is_std_array<V>)
        return has_bits<typename V::value_type>() && !is_shared_text<typename V::value_type>;
    else
        return is_integer<V> || std::is_enum_v<V> || is_id_like<V> || is_fixed_bytes<V> ||
               is_shared_text<V> || requires(const V& v) { v.words(); };
}

/// Appends a value: a text, or 8 * sizeof(V) bits.
template <typename Writer, typename V>
void append_bits(Writer& to, const V& value, bool is_descending) {
    constexpr unsigned bits = 8 * sizeof(V);
    if constexpr (is_std_array<V>) {
        if constexpr (is_byte<typename V::value_type>)
            append_bytes(to, value.data(), value.size(), is_descending);
        else
            for (const auto& one : value)
                append_bits(to, one, is_descending);
    } else if constexpr (is_wide<V>) {
        append_number(to, static_cast<std::uint64_t>(value >> 64), 64,
                      std::is_same_v<V, wide_integer>, is_descending);
        to.append(static_cast<std::uint64_t>(value), 64, is_descending);
    } else if constexpr (std::is_enum_v<V>) {
        append_bits(to, static_cast<std::underlying_type_t<V>>(value), is_descending);
    } else if constexpr (std::integral<V>) {
        append_number(to, static_cast<std::uint64_t>(value), bits, std::is_signed_v<V>,
                      is_descending);
    } else if constexpr (is_id_like<V>) {
        to.append(value.value, 32, is_descending);
    } else if constexpr (is_fixed_bytes<V>) {
        append_bytes(to, value.data(), V::bytes, is_descending);
    } else if constexpr (requires { value.words(); }) {
        for (const std::uint64_t word : value.words()) // the first byte in the lowest bits
            to.append(__builtin_bswap64(word), 64, is_descending);
    } else {
        append_text(to, value, is_descending);
    }
}

} // namespace chainbase::detail
