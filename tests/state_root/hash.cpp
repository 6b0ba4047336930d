// The hash below the state root: published vectors, and records of objects.

#include <chainbase/state_root/sha256.hpp>
#include <chainbase/state_root/tree_hash.hpp>

#include <boost/algorithm/hex.hpp>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace chainbase;
using state_root::tree_hash;

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

// The digests of the tree, against values that Python's hashlib computed from the definition in
// tree_hash.hpp: a change of the hashed bytes is incompatible with all other nodes.

namespace {

/// SHA-256 of the byte 0, of the byte 1, and so on.
std::vector<sha256_digest> children(unsigned count) {
    std::vector<sha256_digest> all;
    for (unsigned number = 0; number < count; ++number) {
        const auto byte = static_cast<std::byte>(number);
        all.push_back(sha256().of(std::span(&byte, 1)));
    }
    return all;
}

struct known_node {
    std::uint16_t branches;
    std::string_view digest;
};

const known_node nodes[] = {
    // 1 (a root may have it), 2 and 8 children: in a row
    {0x0001, "f49f556ea0350f49d3f04d46e59c63f241c0830c6a64d25183cc72cc9d8f08cc"},
    {0x8001, "fb9380c4eadefa91f6c0a8b3cedc7c1ff5279d149fc93a656a1d32be007f0763"},
    {0x0014, "31c84bc28e153af0326448a4e8f17bdd3766b2fe307c1473ade332867dc69de7"},
    {0x00ff, "4c1135ca3384b210e8f2d387b4e121d6d42b3dd6c12d1394267a5fc8b8593cd5"},
    // 9 and more: by groups, of 4, 4 and 1; of 4, 4 and 2; of 3, 3, 2 and 3; of none, 4, 4 and 3;
    // of 3, 4, 1 and
    // 4; full
    {0x01ff, "a760271964a8d0ee09c40f78dfe8fd700262aeb485ae11a199e952617fccab61"},
    {0x03ff, "c1bd55096815d8ab520cc41b0cf3ed73dcee44595caa052f377116a290730ee2"},
    {0xdab7, "fbc6472243bf90d73e991492b7871d5a423f9d68343c9067ea85951289c2b33f"},
    {0x7ff0, "b330bb4f3d341257a221c294c85917cb7a269757de6fdb283fd72f6aec06df6e"},
    {0xf1fd, "498fadd3a0085df388579eb1a620b9b6c3a25e0f42983f90ba4853c4cbb8023f"},
    {0x8fff, "387cf97056cf97e1b727e879ddf68cae1844771894cdc79b24becd1db295f8ae"},
    {0xffff, "8b8410f4eac7e909b57285335def083ba9e5a3361d55c6c93a4774928e0f1484"},
};

} // namespace

TEST_CASE("keys and leaves have the digests of their definition") {
    tree_hash hash;
    CHECK(hex(hash.key("account", 0)) ==
          "2e2936a3ef0ef81169877e9f44ee07f2d3417c166998089175f552cabb5406ad");
    CHECK(hex(hash.key("account", 0x01020304)) ==
          "1ed86a9b5de621f9dbcbbee02be3d14c9a9dc69ecaaed5b5ad9ecbc319aa1dc0");
    CHECK(hex(hash.key("", 0xffffffff)) ==
          "717880834ab91167dfb61b78259ec9761650db6536f0c33cadf325ccdaf3ec83");
    const sha256_digest content = hash.content(std::as_bytes(std::span("abc", 3)));
    CHECK(hex(content) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(hex(hash.leaf(hash.key("account", 7), content)) ==
          "4577b0941196d4cc38b7ae2340738793b62ae44168fa97dad469ce23d880d51a");
}

TEST_CASE("nodes have the digests of their definition") {
    tree_hash hash;
    for (const known_node& one : nodes) {
        CAPTURE(one.branches);
        CHECK(hex(hash.node(one.branches, children(state_root::count_of(one.branches)))) ==
              one.digest);
    }
}

TEST_CASE("groups have the digests of their definition") {
    tree_hash hash;
    const std::string_view digests[] = {
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d", // the child's own
        "012813d2cfda12418881055a463906f3dcbf358cc04c4bedb09b1c675db17e5b",
        "32d2ba91182626714a4aaac76dcecc292de5f10eea6165bfea1e5760dd569028",
        "15663fa23fc57c41c491bb824d3c0df0c03fcf0d5674bd0be390bab2753de9ee"};
    for (unsigned count = 1; count <= 4; ++count) {
        CAPTURE(count);
        CHECK(hex(hash.group(children(count))) == digests[count - 1]);
    }
}
