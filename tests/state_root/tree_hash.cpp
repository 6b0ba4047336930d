// The digests of the tree, against figures that Python's hashlib made from the definition in
// tree_hash.hpp: who changes what is hashed parts from all other nodes.
#include <chainbase/state_root/tree_hash.hpp>

#include <catch2/catch.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

using namespace chainbase;
using state_root::tree_hash;

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
