#include <chainbase/state_root/sha256_pairs.hpp>

#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace chainbase {

// FIPS 180-4. A pair is a block, and its padding, which is always the same, another one.

namespace {

template <std::size_t count>
using words = std::array<std::uint32_t, count>;

alignas(32) constexpr words<8> initial{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

alignas(32) constexpr words<64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// `word` is a number, or a vector of one for each pair.

template <typename word>
[[gnu::always_inline]] constexpr void rotate(word& x, int by) noexcept {
    x = x >> by | x << (32 - by);
}

/// x rotated by each of the three, and all of that added without carry.
template <typename word>
[[gnu::always_inline]] constexpr void mix(word& into, const word& x, int a, int b, int c) noexcept {
    word first = x, second = x, third = x;
    rotate(first, a), rotate(second, b), rotate(third, c);
    into += first ^ second ^ third;
}

/// The word of the schedule for round t, in place of that for round t - 16.
template <typename word>
[[gnu::always_inline]] constexpr void schedule(std::array<word, 16>& w, std::size_t t) noexcept {
    const word& early = w[(t + 1) % 16];
    const word& late = w[(t + 14) % 16];
    word a = early, b = early, c = late, d = late;
    rotate(a, 7), rotate(b, 18), rotate(c, 17), rotate(d, 19);
    w[t % 16] += (a ^ b ^ early >> 3) + w[(t + 9) % 16] + (c ^ d ^ late >> 10);
}

/// The padding's schedule with the constants of the rounds: what each round of it adds.
alignas(32) constexpr words<64> padding_rounds = [] {
    words<16> w{0x80000000};
    w[15] = 8 * 2 * sizeof(sha256_digest);
    words<64> sums = round_constants;
    for (std::size_t t = 0; t < sums.size(); ++t) {
        if (t >= w.size()) schedule(w, t);
        sums[t] += w[t % w.size()];
    }
    return sums;
}();

template <typename word>
[[gnu::always_inline]] inline void add_to(std::array<word, 8>& state, const word& round) noexcept {
    auto& [a, b, c, d, e, f, g, h] = state;
    word first = h + (g ^ (e & (f ^ g))) + round;
    mix(first, e, 6, 11, 25);
    word second = first + ((a & b) | (c & (a | b)));
    mix(second, a, 2, 13, 22);
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = second;
}

/// The digest, from the words of a pair.
template <typename word>
[[gnu::always_inline]] inline void hash(std::array<word, 16>& w,
                                        std::array<word, 8>& state) noexcept {
    std::array<word, 8> was{};
    for (std::size_t i = 0; i < was.size(); ++i)
        state[i] = was[i] = word{} + initial[i];
#pragma GCC unroll 64
    for (std::size_t t = 0; t < 64; ++t) {
        if (t >= w.size()) schedule(w, t);
        add_to(state, word(w[t % w.size()] + round_constants[t]));
    }
    for (std::size_t i = 0; i < was.size(); ++i)
        was[i] = state[i] += was[i];
#pragma GCC unroll 64
    for (std::size_t t = 0; t < 64; ++t)
        add_to(state, word(word{} + padding_rounds[t]));
    for (std::size_t i = 0; i < was.size(); ++i)
        state[i] += was[i];
}

/// Word i of a pair, as the processor has it.
std::uint32_t word_of(const digest_pair& pair, std::size_t i) noexcept {
    std::uint32_t word = 0;
    std::memcpy(&word, (i < 8 ? pair.left : pair.right)->data() + i % 8 * sizeof word, sizeof word);
    return boost::endian::big_to_native(word);
}

void store(std::uint32_t word, std::size_t i, const digest_pair& pair) noexcept {
    word = boost::endian::native_to_big(word);
    std::memcpy(pair.to->data() + i * sizeof word, &word, sizeof word);
}

struct portable {
    static constexpr std::size_t at_once = 1;
    static void run(const std::array<digest_pair, at_once>& pairs) noexcept {
        words<16> w{};
        words<8> state{};
        for (std::size_t i = 0; i < w.size(); ++i)
            w[i] = word_of(pairs[0], i);
        hash(w, state);
        for (std::size_t i = 0; i < state.size(); ++i)
            store(state[i], i, pairs[0]);
    }
};

#if defined(__x86_64__)

struct avx2 {
    static constexpr std::size_t at_once = 8;
    using word [[gnu::vector_size(32)]] = std::uint32_t;
    [[gnu::target("avx2")]] static void
    run(const std::array<digest_pair, at_once>& pairs) noexcept {
        std::array<word, 16> w;
        std::array<word, 8> state;
        for (std::size_t i = 0; i < w.size(); ++i)
            for (std::size_t n = 0; n < at_once; ++n)
                w[i][n] = word_of(pairs[n], i);
        hash(w, state);
        for (std::size_t i = 0; i < state.size(); ++i)
            for (std::size_t n = 0; n < at_once; ++n)
                store(state[i][n], i, pairs[n]);
    }
};

/// Two at once, since the next instruction for rounds can begin when the last one is half done.
struct sha_instructions {
    static constexpr std::size_t at_once = 2;
    [[gnu::target("sha,sse4.1,ssse3")]] static void
    run(const std::array<digest_pair, at_once>& pairs) noexcept {
        const auto of = [](const void* words, std::size_t i) {
            return static_cast<const __m128i*>(words) + i;
        };
        const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
        const __m128i dcba = _mm_load_si128(of(initial.data(), 0));
        const __m128i hgfe = _mm_load_si128(of(initial.data(), 1));
        const __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
        __m128i abef[at_once], cdgh[at_once], abef_was[at_once], cdgh_was[at_once], w[at_once][4];
        for (std::size_t i = 0; i < at_once; ++i) {
            abef[i] = abef_was[i] = _mm_alignr_epi8(cdab, efgh, 8);
            cdgh[i] = cdgh_was[i] = _mm_blend_epi16(efgh, cdab, 0xf0);
        }
#pragma GCC unroll 16
        for (std::size_t t = 0; t < 16; ++t) { // four rounds each
            const __m128i k = _mm_load_si128(of(round_constants.data(), t));
            for (std::size_t i = 0; i < at_once; ++i) {
                if (t < 4) {
                    const sha256_digest* const half = t < 2 ? pairs[i].left : pairs[i].right;
                    w[i][t] = _mm_shuffle_epi8(_mm_loadu_si128(of(half->data(), t % 2)), swap);
                } else {
                    const __m128i last = w[i][(t + 3) % 4];
                    const __m128i sum =
                        _mm_add_epi32(_mm_sha256msg1_epu32(w[i][t % 4], w[i][(t + 1) % 4]),
                                      _mm_alignr_epi8(last, w[i][(t + 2) % 4], 4));
                    w[i][t % 4] = _mm_sha256msg2_epu32(sum, last);
                }
                const __m128i added = _mm_add_epi32(w[i][t % 4], k);
                cdgh[i] = _mm_sha256rnds2_epu32(cdgh[i], abef[i], added);
                abef[i] = _mm_sha256rnds2_epu32(abef[i], cdgh[i], _mm_shuffle_epi32(added, 0x0e));
            }
        }
        for (std::size_t i = 0; i < at_once; ++i) {
            abef[i] = abef_was[i] = _mm_add_epi32(abef[i], abef_was[i]);
            cdgh[i] = cdgh_was[i] = _mm_add_epi32(cdgh[i], cdgh_was[i]);
        }
#pragma GCC unroll 16
        for (std::size_t t = 0; t < 16; ++t) {
            const __m128i added = _mm_load_si128(of(padding_rounds.data(), t));
            const __m128i later = _mm_shuffle_epi32(added, 0x0e);
            for (std::size_t i = 0; i < at_once; ++i) {
                cdgh[i] = _mm_sha256rnds2_epu32(cdgh[i], abef[i], added);
                abef[i] = _mm_sha256rnds2_epu32(abef[i], cdgh[i], later);
            }
        }
        for (std::size_t i = 0; i < at_once; ++i) {
            const __m128i feba = _mm_shuffle_epi32(_mm_add_epi32(abef[i], abef_was[i]), 0x1b);
            const __m128i dchg = _mm_shuffle_epi32(_mm_add_epi32(cdgh[i], cdgh_was[i]), 0xb1);
            auto* const to = reinterpret_cast<__m128i*>(pairs[i].to->data());
            _mm_storeu_si128(to, _mm_shuffle_epi8(_mm_blend_epi16(feba, dchg, 0xf0), swap));
            _mm_storeu_si128(to + 1, _mm_shuffle_epi8(_mm_alignr_epi8(dchg, feba, 8), swap));
        }
    }
};

#elif defined(__aarch64__)

/// Two at once, as on x86.
struct sha_instructions {
    static constexpr std::size_t at_once = 2;
    [[gnu::target("+crypto")]] static void
    run(const std::array<digest_pair, at_once>& pairs) noexcept {
        uint32x4_t abcd[at_once], efgh[at_once], abcd_was[at_once], efgh_was[at_once];
        uint32x4_t w[at_once][4];
        for (std::size_t i = 0; i < at_once; ++i) {
            abcd[i] = abcd_was[i] = vld1q_u32(initial.data());
            efgh[i] = efgh_was[i] = vld1q_u32(initial.data() + 4);
        }
#pragma GCC unroll 16
        for (std::size_t t = 0; t < 16; ++t) {
            const uint32x4_t k = vld1q_u32(round_constants.data() + 4 * t);
            for (std::size_t i = 0; i < at_once; ++i) {
                if (t < 4) {
                    const sha256_digest* const half = t < 2 ? pairs[i].left : pairs[i].right;
                    const auto* const from = reinterpret_cast<const std::uint8_t*>(half->data());
                    w[i][t] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(from + 16 * (t % 2))));
                } else {
                    w[i][t % 4] = vsha256su1q_u32(vsha256su0q_u32(w[i][t % 4], w[i][(t + 1) % 4]),
                                                  w[i][(t + 2) % 4], w[i][(t + 3) % 4]);
                }
                const uint32x4_t added = vaddq_u32(w[i][t % 4], k), former = abcd[i];
                abcd[i] = vsha256hq_u32(abcd[i], efgh[i], added);
                efgh[i] = vsha256h2q_u32(efgh[i], former, added);
            }
        }
        for (std::size_t i = 0; i < at_once; ++i) {
            abcd[i] = abcd_was[i] = vaddq_u32(abcd[i], abcd_was[i]);
            efgh[i] = efgh_was[i] = vaddq_u32(efgh[i], efgh_was[i]);
        }
#pragma GCC unroll 16
        for (std::size_t t = 0; t < 16; ++t) {
            const uint32x4_t added = vld1q_u32(padding_rounds.data() + 4 * t);
            for (std::size_t i = 0; i < at_once; ++i) {
                const uint32x4_t former = abcd[i];
                abcd[i] = vsha256hq_u32(abcd[i], efgh[i], added);
                efgh[i] = vsha256h2q_u32(efgh[i], former, added);
            }
        }
        for (std::size_t i = 0; i < at_once; ++i) {
            const auto put = [&](uint32x4_t words, std::size_t half) {
                vst1q_u8(reinterpret_cast<std::uint8_t*>(pairs[i].to->data()) + 16 * half,
                         vrev32q_u8(vreinterpretq_u8_u32(words)));
            };
            put(vaddq_u32(abcd[i], abcd_was[i]), 0);
            put(vaddq_u32(efgh[i], efgh_was[i]), 1);
        }
    }
};

#endif

/// At the end the last pair is hashed in all places that are left.
template <typename Way>
void hash_by(std::span<const digest_pair> pairs) noexcept {
    std::array<digest_pair, Way::at_once> some;
    for (; pairs.size() >= some.size(); pairs = pairs.subspan(some.size())) {
        std::ranges::copy(pairs.first(some.size()), some.begin());
        Way::run(some);
    }
    if (pairs.empty()) return;
    some.fill(pairs.back());
    std::ranges::copy(pairs, some.begin());
    Way::run(some);
}

struct known_ways {
    std::array<sha256_way, 3> all;
    std::size_t count = 0;

    void push_back(sha256_way way) noexcept { all[count++] = way; }
};

known_ways find_ways() noexcept {
    known_ways found{};
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned sha_bit = 1u << 29;
    const bool has_sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & sha_bit) != 0;
    if (has_sha && __builtin_cpu_supports("sse4.1")) found.push_back(sha256_way::sha_instructions);
    if (__builtin_cpu_supports("avx2")) found.push_back(sha256_way::avx2);
#elif defined(__aarch64__)
    if ((getauxval(AT_HWCAP) & HWCAP_SHA2) != 0) found.push_back(sha256_way::sha_instructions);
#endif
    found.push_back(sha256_way::portable);
    return found;
}

} // namespace

std::string_view name_of(sha256_way way) noexcept {
    switch (way) {
    case sha256_way::portable:
        return "portable";
    case sha256_way::avx2:
        return "avx2";
    case sha256_way::sha_instructions:
        break;
    }
    return "sha_instructions";
}

std::span<const sha256_way> sha256_ways() noexcept {
    static const known_ways found = find_ways();
    return std::span(found.all).first(found.count);
}

void hash_pairs(std::span<const digest_pair> pairs, sha256_way way) noexcept {
    switch (way) {
#if defined(__x86_64__) || defined(__aarch64__)
    case sha256_way::sha_instructions:
        return hash_by<sha_instructions>(pairs);
#endif
#if defined(__x86_64__)
    case sha256_way::avx2:
        return hash_by<avx2>(pairs);
#endif
    default:
        return hash_by<portable>(pairs);
    }
}

} // namespace chainbase
