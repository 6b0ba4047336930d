#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace chainbase {

/// The key of a hash: 16 random bytes.
struct hash_seed {
    std::uint64_t words[2] = {0, 0};

    friend bool operator==(const hash_seed&, const hash_seed&) = default;
};
static_assert(sizeof(hash_seed) == 16);

/// SipHash-1-3 (J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", 2012; the
/// variant that Rust's and Python's tables use): without the seed nobody can choose values whose
/// hashes collide.
///
/// The input is a sequence of numbers and texts; no sequence is a prefix of another one of the same
/// types: a number is one block of 8 bytes, a text is its length and then its bytes. So the final
/// length block of SipHash is not needed.
class keyed_hash {
public:
    explicit keyed_hash(const hash_seed& seed) noexcept
        : v0_(seed.words[0] ^ 0x736f'6d65'7073'6575U), v1_(seed.words[1] ^ 0x646f'7261'6e64'6f6dU),
          v2_(seed.words[0] ^ 0x6c79'6765'6e65'7261U), v3_(seed.words[1] ^ 0x7465'6462'7974'6573U) {
    }

    void add(std::uint64_t block) noexcept {
        v3_ ^= block;
        round();
        v0_ ^= block;
    }
    /// The last block is the last 8 bytes, which may overlap the block before; a text shorter than
    /// 8 bytes is one block.
    void add(std::string_view text) noexcept {
        const char* at = text.data();
        const char* const end = at + text.size();
        add(std::uint64_t{text.size()});
        if (text.size() >= 8) {
            for (; end - at > 8; at += 8)
                add(word_at<std::uint64_t>(at));
            add(word_at<std::uint64_t>(end - 8));
        } else if (text.size() >= 4) {
            add(std::uint64_t{word_at<std::uint32_t>(at)} << 32 | word_at<std::uint32_t>(end - 4));
        } else if (!text.empty()) {
            add(std::uint64_t{word_at<std::uint8_t>(at)} << 16 |
                std::uint64_t{word_at<std::uint8_t>(at + text.size() / 2)} << 8 |
                word_at<std::uint8_t>(end - 1));
        }
    }
    /// The hash of everything added. Nothing may be added afterwards.
    [[nodiscard]] std::uint64_t value() noexcept {
        v2_ ^= 0xff;
        round();
        round();
        round();
        return v0_ ^ v1_ ^ v2_ ^ v3_;
    }

private:
    template <typename Word>
    [[nodiscard]] static Word word_at(const char* at) noexcept {
        Word word;
        std::memcpy(&word, at, sizeof word);
        return word;
    }
    void round() noexcept {
        v0_ += v1_;
        v2_ += v3_;
        v1_ = std::rotl(v1_, 13) ^ v0_;
        v3_ = std::rotl(v3_, 16) ^ v2_;
        v0_ = std::rotl(v0_, 32);
        v2_ += v1_;
        v0_ += v3_;
        v1_ = std::rotl(v1_, 17) ^ v2_;
        v3_ = std::rotl(v3_, 21) ^ v0_;
        v2_ = std::rotl(v2_, 32);
    }

    std::uint64_t v0_;
    std::uint64_t v1_;
    std::uint64_t v2_;
    std::uint64_t v3_;
};

} // namespace chainbase
