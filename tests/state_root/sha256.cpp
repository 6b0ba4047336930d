// The hashes below the state root: published vectors, and pairs of digests in every way against
// OpenSSL.

#include <chainbase/state_root/sha256.hpp>
#include <chainbase/state_root/sha256_pairs.hpp>

#include <boost/algorithm/hex.hpp>
#include <catch2/catch.hpp>
#include <tests/state_root/digests.hpp>
#include <tests/support/seeded.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

// The published test vectors of SHA-256: the examples of FIPS 180-4 (NIST), and short messages of
// NIST's Cryptographic Algorithm Validation Program (SHA256ShortMsg.rsp, byte-oriented); at once
// and in pieces.

namespace {

struct published {
    std::string message;
    std::string_view digest;
};

std::string unhex(std::string_view digits) {
    return boost::algorithm::unhex(std::string(digits));
}

constexpr std::string_view digest_of_abc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

const published vectors[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", digest_of_abc},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
     "qrsmnopqrstnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    {std::string(1'000'000, 'a'),
     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    // of 1 to 16 bytes; of 55, 56, 63 and 64, where the padding goes over to another block
    {unhex("d3"), "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"},
    {unhex("11af"), "5ca7133fa735326081558ac312c620eeca9970d1e70a4b95533d956f072d1f98"},
    {unhex("b4190e"), "dff2e73091f6c05e528896c4c831b9448653dc2ff043528f6769437bc7b975c2"},
    {unhex("74ba2521"), "b16aa56be3880d18cd41e68384cf1ec8c17680c45a02b1575dc1518923ae8b0e"},
    {unhex("5738c929c4f4ccb6"), "963bb88f27f512777aab6c8b1a02c70ec0ad651d428f870036e1917120fb48bf"},
    {unhex("0a27847cdc98bd6f62220b046edd762b"),
     "80c25ec1600587e7f28b18b1b18e3cdc89928e39cab3bc25e4d4a4c139bcedc4"},
    {unhex("3ebfb06db8c38d5ba037f1363e118550aad94606e26835a01af05078533cc25f2f39573c04b632f62f68c2"
           "94ab31f2a3e2a1a0d8c2be51"),
     "6595a2ef537a69ba8583dfbf7f5bec0ab1f93ce4c8ee1916eff44a93af5749c4"},
    {unhex("2d52447d1244d2ebc28650e7b05654bad35b3a68eedc7f8515306b496d75f3e73385dd1b002625024b81a0"
           "2f2fd6dffb6e6d561cb7d0bd7a"),
     "cfb88d6faf2de3a69d36195acec2e255e2af2b7d933997f348e09f6ce5758360"},
    {unhex("e2f76e97606a872e317439f1a03fcd92e632e5bd4e7cbc4e97f1afc19a16fde92d77cbe546416b51640cdd"
           "b92af996534dfd81edb17c4424cf1ac4d75aceeb"),
     "18041bd4665083001fba8c5411d2d748e8abbfdcdfd9218cb02b68a78e7d4c23"},
    {unhex("5a86b737eaea8ee976a0a24da63e7ed7eefad18a101c1211e2b3650c5187c2a8a650547208251f6d4237e6"
           "61c7bf4c77f335390394c37fa1a9f9be836ac28509"),
     "42e61e174fbb3897d6dd6cef3dd2802fe67b331953b06114a65c772859dfc1aa"},
};

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

} // namespace

TEST_CASE("SHA-256 gives the published digests") {
    for (const published& one : vectors) {
        CAPTURE(one.message.size());
        CHECK(hex(sha256().of(bytes_of(one.message))) == one.digest);
    }
}

TEST_CASE("a message in pieces has the digest that it has at once") {
    for (const published& one : vectors)
        for (const std::size_t piece : {1u, 3u, 55u, 56u, 63u, 64u, 65u, 1000u}) {
            CAPTURE(one.message.size(), piece);
            sha256 hasher;
            for (std::string_view rest = one.message; !rest.empty();) {
                hasher.add(bytes_of(rest.substr(0, piece)));
                rest.remove_prefix(std::min(piece, rest.size()));
            }
            CHECK(hex(hasher.finish()) == one.digest);
        }
}

TEST_CASE("one hasher serves for one message after the other") {
    sha256 hasher;
    for (int round = 0; round < 3; ++round)
        for (const published& one : vectors) {
            CAPTURE(round, one.message.size());
            CHECK(hex(hasher.of(bytes_of(one.message))) == one.digest);
        }
    hasher.add(bytes_of("a"));
    hasher.add({});
    hasher.add(bytes_of("bc"));
    CHECK(hex(hasher.finish()) == digest_of_abc);
}

// Pairs of digests: what the nodes of a tree are.

TEST_CASE_METHOD(seeded, "pairs have the digests of OpenSSL in every way, however many they are") {
    std::vector<sha256_digest> from(200), to(100);
    for (sha256_digest& one : from)
        one = any_digest(random);
    for (const sha256_way way : sha256_ways())
        for (std::size_t count = 0; count <= to.size(); ++count) {
            INFO(name_of(way) << ", " << count << " pairs");
            std::vector<digest_pair> pairs;
            for (std::size_t i = 0; i < count; ++i)
                pairs.push_back({&from[random.below(from.size())], &from[2 * i], &to[i]});
            std::ranges::fill(to, sha256_digest{});
            hash_pairs(pairs, way);
            for (std::size_t i = 0; i < to.size(); ++i)
                REQUIRE(to[i] == (i < count ? by_openssl(*pairs[i].left, *pairs[i].right)
                                            : sha256_digest{}));
        }
}

TEST_CASE_METHOD(seeded, "a pair may be hashed in place, in every way") {
    for (const sha256_way way : sha256_ways()) {
        std::vector<sha256_digest> digests(34);
        std::vector<digest_pair> pairs;
        std::vector<sha256_digest> expected;
        for (std::size_t i = 0; i < digests.size(); i += 2) {
            digests[i] = any_digest(random);
            digests[i + 1] = any_digest(random);
            pairs.push_back({&digests[i], &digests[i + 1], &digests[i]});
            expected.push_back(by_openssl(digests[i], digests[i + 1]));
        }
        hash_pairs(pairs, way);
        for (std::size_t i = 0; i < pairs.size(); ++i)
            REQUIRE(digests[2 * i] == expected[i]);
    }
}

TEST_CASE("pairs have known digests in every way") {
    sha256_digest bytes_0_to_31{};
    for (unsigned i = 0; i < bytes_0_to_31.size(); ++i)
        bytes_0_to_31[i] = static_cast<std::byte>(i);
    const sha256_digest zeros{};
    for (const sha256_way way : sha256_ways()) {
        CAPTURE(name_of(way));
        // As many as are hashed at once by any way, and one more.
        std::vector<sha256_digest> of_zeros(9), of_bytes(9);
        std::vector<digest_pair> pairs;
        for (std::size_t i = 0; i < of_zeros.size(); ++i) {
            pairs.push_back({&zeros, &zeros, &of_zeros[i]});
            pairs.push_back({&bytes_0_to_31, &zeros, &of_bytes[i]});
        }
        hash_pairs(pairs, way);
        for (const sha256_digest& one : of_zeros)
            CHECK(hex(one) == "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
        for (const sha256_digest& one : of_bytes)
            CHECK(hex(one) == "5576ce645abbf23973c63a02b3cdb0efc8ed3c9bd7dac3845f6b9ad6820b4bde");
    }
}
