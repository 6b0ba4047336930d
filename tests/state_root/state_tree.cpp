// Roots and proofs of states: forged ones, and those of a program that was written from FORMAT.md.

#include <chainbase/state_root/state_tree.hpp>

#include <catch2/catch.hpp>
#include <tests/support/seeded.hpp>
#include <tests/support/temporary_folder.hpp>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using state_root::leaf_update;
using state_root::no_digest;
using state_root::proof_result;
using state_root::state_tree;

namespace {

using bytes = std::vector<std::byte>;

std::string hex_of(std::span<const std::byte> from) {
    std::string digits;
    for (const std::byte one : from) {
        constexpr char digit[] = "0123456789abcdef";
        digits += digit[std::to_integer<unsigned>(one >> 4)];
        digits += digit[std::to_integer<unsigned>(one & std::byte{15})];
    }
    return digits;
}

sha256_digest digest_of(const bytes& record) {
    sha256 hash;
    return hash.of(record);
}

/// Some types with objects, by a seed.
class sample {
public:
    sample(random_source& random, std::size_t types, std::uint64_t most_objects)
        : tree(names(types)) {
        for (std::size_t type = 0; type < types; ++type) {
            const std::uint64_t range = 1 + random.below(most_objects);
            for (std::uint64_t left = random.below(most_objects); left != 0; --left)
                records[type][static_cast<std::uint32_t>(random.below(range))] = any_record(random);
            std::vector<leaf_update> updates;
            for (const auto& [id, record] : records[type])
                updates.push_back({id, digest_of(record)});
            tree.update(type, updates);
        }
    }
    [[nodiscard]] std::optional<bytes> record(std::size_t type, std::uint32_t id) const {
        const auto of = records.find(type);
        if (of == records.end()) return std::nullopt;
        const auto found = of->second.find(id);
        return found == of->second.end() ? std::nullopt : std::optional(found->second);
    }
    /// What a proof must show, and what one does show to somebody who has the record.
    void check(std::size_t type, std::uint32_t id) const {
        const auto own = record(type, id);
        const auto leaf = own ? std::optional(digest_of(*own)) : std::nullopt;
        REQUIRE(
            state_tree::verify(tree.root(), tree.types()[type], id, leaf, tree.prove(type, id)) ==
            (own ? proof_result::included : proof_result::excluded));
    }
    static bytes any_record(random_source& random) {
        bytes record(1 + random.below(80));
        for (std::byte& one : record)
            one = static_cast<std::byte>(random.below(256));
        return record;
    }

    state_tree tree;
    std::map<std::size_t, std::map<std::uint32_t, bytes>> records;

private:
    static std::vector<std::string> names(std::size_t types) {
        std::vector<std::string> made;
        for (std::size_t type = 0; type < types; ++type)
            made.push_back("type" + std::to_string(100 + type));
        return made;
    }
};

std::string_view name_of(proof_result what) {
    return what == proof_result::included   ? "included"
           : what == proof_result::excluded ? "excluded"
                                            : "invalid";
}

} // namespace

TEST_CASE_METHOD(seeded, "the proof of an object holds, and that of its absence") {
    for (int round = 0; round < 20; ++round) {
        const sample one(random, 1 + random.below(20), 300);
        for (int look = 0; look < 100; ++look)
            one.check(random.below(one.tree.types().size()),
                      static_cast<std::uint32_t>(random.below(random.below(2) ? 400 : UINT32_MAX)));
    }
}

TEST_CASE_METHOD(seeded,
                 "no altered proof holds, nor one for another object, content, type or root") {
    std::uint64_t left = 200'000;
    while (left != 0) {
        const sample one(random, 1 + random.below(5), 100);
        const std::size_t type = random.below(one.tree.types().size());
        const auto id = static_cast<std::uint32_t>(random.below(120));
        const auto own = one.record(type, id);
        const auto leaf = own ? std::optional(digest_of(*own)) : std::nullopt;
        const sha256_digest root = one.tree.root();
        const std::string& name = one.tree.types()[type];
        const bytes proof = one.tree.prove(type, id);
        const auto is_invalid = [&](const sha256_digest& of, const std::string& called,
                                    std::uint32_t number, const bytes& by) {
            return state_tree::verify(of, called, number, leaf, by) == proof_result::invalid;
        };
        for (int change = 0; change < 100 && left != 0; ++change, --left) {
            bytes altered = proof;
            const std::size_t at = random.below(altered.size());
            switch (random.below(4)) {
            case 0:
                altered[at] ^= static_cast<std::byte>(1u << random.below(8));
                break;
            case 1:
                altered.resize(at);
                break;
            case 2:
                altered.insert(altered.begin() + static_cast<std::ptrdiff_t>(at), std::byte{});
                break;
            default:
                altered.push_back(static_cast<std::byte>(random.below(256)));
            }
            INFO(hex_of(proof) << " became " << hex_of(altered));
            REQUIRE((altered == proof || is_invalid(root, name, id, altered)));
        }
        sha256_digest other = root;
        other[random.below(32)] ^= std::byte{1};
        REQUIRE(is_invalid(other, name, id, proof));
        REQUIRE(is_invalid(root, name + "x", id, proof));
        if (own) {
            REQUIRE(is_invalid(root, name, id ^ 1u << random.below(32), proof));
            const sha256_digest wrong = digest_of(sample::any_record(random));
            REQUIRE(state_tree::verify(root, name, id, wrong, proof) == proof_result::invalid);
            REQUIRE(state_tree::verify(root, name, id, {}, proof) == proof_result::invalid);
            REQUIRE(state_tree::verify(root, name, id, no_digest, proof) == proof_result::invalid);
        }
    }
}

TEST_CASE("there is one way to write a proof") {
    state_tree tree({"account"});
    const sha256_digest leaf = digest_of({std::byte{7}});
    tree.update(0, std::vector<leaf_update>{{0, leaf}});
    const auto result_of = [&](const bytes& proof) {
        return state_tree::verify(tree.root(), "account", 0, leaf, proof);
    };
    const bytes proof = tree.prove(0, 0); // 02 00, height 4 and no digest; 0, height 4, no digest
    REQUIRE(proof.size() == 10);
    CHECK(result_of(proof) == proof_result::included);
    bytes nothing_said = proof;
    nothing_said[3] = std::byte{1};
    nothing_said.insert(nothing_said.begin() + 4, 32, std::byte{});
    CHECK(result_of(nothing_said) == proof_result::invalid);
    bytes bit_beyond = proof;
    bit_beyond[3] = std::byte{0x80};
    CHECK(result_of(bit_beyond) == proof_result::invalid);
    bytes odd_height = proof;
    odd_height[2] = std::byte{3};
    CHECK(result_of(odd_height) == proof_result::invalid);
    bytes beyond = tree.prove(0, 1'000'000); // 02 01, height 4, root
    CHECK(state_tree::verify(tree.root(), "account", 1'000'000, {}, beyond) ==
          proof_result::excluded);
    beyond[2] = std::byte{68};
    CHECK(state_tree::verify(tree.root(), "account", 1'000'000, {}, beyond) ==
          proof_result::invalid);
}

TEST_CASE("a root tells types without objects from types that it does not commit to") {
    const sha256_digest none = state_tree({}).root();
    const sha256_digest empty = state_tree({"account"}).root();
    CHECK(none != empty);
    CHECK(empty != state_tree({"vote"}).root());
    CHECK(empty != state_tree({"account", "vote"}).root());
    CHECK(state_tree({"vote", "account"}).root() == state_tree({"account", "vote"}).root());
    CHECK(state_tree({"account"}).number_of("vote") == std::nullopt);
    CHECK(state_tree::verify(empty, "account", 0, {}, state_tree({"account"}).prove(0, 0)) ==
          proof_result::excluded);
}

TEST_CASE_METHOD(seeded, "a program written from the format alone has the same roots and proofs") {
    temporary_folder folder;
    std::ofstream calls(folder / "calls");
    std::vector<std::string> expected;
    const sample one(random, 1 + random.below(20), 200);
    const auto name = [&](std::size_t type) { return one.tree.types()[type]; };
    for (std::size_t type = one.tree.types().size(); type-- != 0;)
        calls << "type " << name(type) << "\n";
    for (const auto& [type, records] : one.records)
        for (const auto& [id, record] : records)
            calls << "object " << name(type) << " " << id << " " << hex_of(record) << "\n";
    calls << "root\n";
    expected.push_back(hex_of(one.tree.root()));
    for (int look = 0; look < 40; ++look) {
        const std::size_t type = random.below(one.tree.types().size());
        const auto id = static_cast<std::uint32_t>(random.below(look % 4 == 0 ? UINT32_MAX : 250));
        bytes proof = one.tree.prove(type, id);
        calls << "prove " << name(type) << " " << id << "\n";
        expected.push_back(hex_of(proof));
        if (look % 2 == 0) proof[random.below(proof.size())] ^= std::byte{1};
        const auto own = one.record(type, id);
        const auto leaf = own ? std::optional(digest_of(*own)) : std::nullopt;
        calls << "verify " << expected.front() << " " << name(type) << " " << id << " "
              << (own ? hex_of(*own) : "-") << " " << hex_of(proof) << "\n";
        expected.emplace_back(
            name_of(state_tree::verify(one.tree.root(), name(type), id, leaf, proof)));
    }
    calls.close();
    const std::string call = std::string(SECOND_IMPLEMENTATION) + " < " +
                             (folder / "calls").string() + " > " + (folder / "answers").string();
    REQUIRE(std::system(call.c_str()) == 0);
    std::ifstream answers(folder / "answers");
    for (const std::string& answer : expected) {
        std::string line;
        REQUIRE(std::getline(answers, line));
        REQUIRE(line == answer);
    }
}
