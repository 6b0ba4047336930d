// Roots and proofs of states: forged ones, and those of a program that was written from FORMAT.md.

#include <chainbase/state_root/leaves_file.hpp>
#include <chainbase/state_root/state_tree.hpp>
#include <pool_allocator/base/thread_pool.hpp>

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
    /// What a proof must show to somebody who has the record, or one of an object that is not
    /// there.
    void check(std::size_t type, std::uint32_t id, const bytes& claimed) const {
        const auto own = record(type, id);
        const bytes proof = tree.prove(type, id);
        const auto shown_to = [&](const std::optional<sha256_digest>& leaf) {
            return state_tree::verify(tree.root(), tree.types()[type], id, leaf, proof);
        };
        REQUIRE(shown_to(digest_of(own ? *own : claimed)) ==
                (own ? proof_result::included : proof_result::excluded));
        REQUIRE(shown_to(std::nullopt) == (own ? proof_result::invalid : proof_result::excluded));
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
            one.check(random.below(static_cast<std::uint32_t>(one.tree.types().size())),
                      random.below(random.chance(500) ? 400 : UINT32_MAX),
                      sample::any_record(random));
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

TEST_CASE_METHOD(seeded, "no bit of a proof can be changed, nothing cut off and nothing added") {
    for (int round = 0; round < 6; ++round) {
        const sample one(random, 1 + random.below(20), 2'000);
        const std::size_t type = random.below(one.tree.types().size());
        const auto id =
            static_cast<std::uint32_t>(random.below(round % 3 == 0 ? UINT32_MAX : 2'500));
        const auto own = one.record(type, id);
        const auto leaf = own ? std::optional(digest_of(*own)) : std::nullopt;
        const bytes proof = one.tree.prove(type, id);
        const auto is_invalid = [&](const bytes& by) {
            return state_tree::verify(one.tree.root(), one.tree.types()[type], id, leaf, by) ==
                   proof_result::invalid;
        };
        CAPTURE(type, id, hex_of(proof));
        REQUIRE_FALSE(is_invalid(proof));
        for (std::size_t bit = 0; bit < 8 * proof.size(); ++bit) {
            bytes altered = proof;
            altered[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
            REQUIRE(is_invalid(altered));
        }
        for (std::size_t length = 0; length < proof.size(); ++length)
            REQUIRE(
                is_invalid({proof.begin(), proof.begin() + static_cast<std::ptrdiff_t>(length)}));
        for (int added = 0; added < 256; ++added) {
            bytes longer = proof;
            longer.push_back(static_cast<std::byte>(added));
            REQUIRE(is_invalid(longer));
        }
    }
}

TEST_CASE("an object of one type does not pass for one of another") {
    state_tree tree({"account", "vote"});
    const sha256_digest leaf = digest_of({std::byte{7}});
    tree.update(0, std::vector<leaf_update>{{3, leaf}});
    tree.update(1, std::vector<leaf_update>{{4, leaf}});
    const auto shows = [&](const char* type, std::uint32_t id, const bytes& proof) {
        return state_tree::verify(tree.root(), type, id, leaf, proof);
    };
    REQUIRE(shows("account", 3, tree.prove(0, 3)) == proof_result::included);
    CHECK(shows("vote", 3, tree.prove(0, 3)) == proof_result::invalid);
    CHECK(shows("vote", 3, tree.prove(1, 3)) == proof_result::excluded);
    bytes of_other_number = tree.prove(0, 3);
    const std::size_t number_at = of_other_number.size() - 4 - 34; // before a path of one digest
    REQUIRE(of_other_number[number_at] == std::byte{0});
    of_other_number[number_at] = std::byte{1};
    CHECK(shows("vote", 3, of_other_number) == proof_result::invalid);
    CHECK(shows("account", 3, of_other_number) == proof_result::invalid);
}

TEST_CASE("a proof of what was there before a change does not hold after it") {
    state_tree tree({"account"});
    const sha256_digest leaf = digest_of({std::byte{7}});
    tree.update(0, std::vector<leaf_update>{{3, leaf}});
    const bytes absent = tree.prove(0, 4);
    const bytes present = tree.prove(0, 3);
    tree.update(0, std::vector<leaf_update>{{3, no_digest}, {4, leaf}});
    const auto shows = [&](std::uint32_t id, const bytes& proof) {
        return state_tree::verify(tree.root(), "account", id, leaf, proof);
    };
    CHECK(shows(4, absent) == proof_result::invalid);
    CHECK(shows(3, present) == proof_result::invalid);
    CHECK(shows(4, tree.prove(0, 4)) == proof_result::included);
}

TEST_CASE_METHOD(seeded, "a node of a tree does not pass for an object") {
    // Whoever claims the digest of a node as that of a record has a shorter way to the root.
    state_tree tree({"account"});
    std::vector<leaf_update> all;
    for (std::uint32_t id = 0; id < 256; ++id)
        all.push_back({id, digest_of(sample::any_record(random))});
    tree.update(0, all);
    const std::uint32_t id = 0x5a;
    const state_root::merkle_path path = tree.objects(0).path(id);
    REQUIRE(path.size() == 8);
    const sha256_digest node =
        state_root::climb(id, tree.objects(0).leaf(id), std::span(path).first(4));
    bytes forged{std::byte{2}, std::byte{0}, std::byte{4}, std::byte{0x0f}};
    for (std::size_t level = 4; level < 8; ++level)
        forged.insert(forged.end(), path[level].begin(), path[level].end());
    const bytes proof = tree.prove(0, id);
    forged.insert(forged.end(), proof.end() - 6, proof.end()); // number, and a path of nothing
    CHECK(state_tree::verify(tree.root(), "account", id >> 4, node, forged) ==
          proof_result::invalid);
    // All but the height agrees: with that of the tree it would hold.
    const sha256_digest under = state_root::climb(id >> 4, node, std::span(path).subspan(4));
    CHECK(under == tree.objects(0).root());
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

TEST_CASE("a height that no tree has is refused, whatever root it leads to") {
    const auto root_over = [](unsigned height, const sha256_digest& objects) {
        const sha256_digest of_type = state_root::sealed(height, objects, "account");
        const std::vector<sha256_digest> nothing_beside(4);
        return state_root::sealed(4, state_root::climb(0, of_type, nothing_beside), {});
    };
    const bytes first_of_types{{}, {}, {}, {}, std::byte{4}, {}}; // number, and a path of nothing
    for (unsigned height = 0; height < 256; ++height) {
        CAPTURE(height);
        const bool is_a_height = height <= 32 && height % 4 == 0;
        bytes beyond{std::byte{2}, std::byte{1}, static_cast<std::byte>(height)};
        beyond.resize(beyond.size() + 32, std::byte{9});
        sha256_digest nines{};
        nines.fill(std::byte{9});
        beyond.insert(beyond.end(), first_of_types.begin(), first_of_types.end());
        CHECK(state_tree::verify(root_over(height, nines), "account", UINT32_MAX, {}, beyond) ==
              (is_a_height && height < 32 ? proof_result::excluded : proof_result::invalid));
        bytes within{std::byte{2}, std::byte{0}, static_cast<std::byte>(height)};
        within.resize(within.size() + (height + 7) / 8);
        within.insert(within.end(), first_of_types.begin(), first_of_types.end());
        CHECK(state_tree::verify(root_over(height, no_digest), "account", 0, {}, within) ==
              (is_a_height && height != 0 ? proof_result::excluded : proof_result::invalid));
    }
}

TEST_CASE_METHOD(seeded, "types that are changed together have the root of one after the other") {
    const std::vector<std::string> types{"account", "post", "vote", "witness"};
    thread_pool pool(2);
    state_tree together(types);
    state_tree in_turn(types);
    for (int round = 0; round < 60; ++round) {
        std::vector<std::vector<leaf_update>> updates(types.size());
        for (auto& of_type : updates) {
            const std::uint32_t apart = 1 + random.below(random.chance(500) ? 9 : 900);
            for (std::uint32_t id = random.below(apart); id < 3'000; id += 1 + random.below(apart))
                of_type.push_back(
                    {id, random.chance(300) ? no_digest : digest_of(sample::any_record(random))});
            if (random.chance(200)) of_type.clear();
        }
        std::vector<state_tree::type_changes> all;
        for (std::size_t type = 0; type < types.size(); ++type)
            if (random.chance(800)) all.push_back({type, updates[type]});
        together.update(all, round % 2 == 0 ? &pool : nullptr);
        for (const auto& one : all)
            in_turn.update(one.type, one.updates);
        REQUIRE(together.root() == in_turn.root());
        REQUIRE(together.leaves() == in_turn.leaves());
        REQUIRE(together.bytes() == in_turn.bytes());
    }
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

namespace {

/// The lines that a program written from the format alone answers.
std::vector<std::string> second_answers(const temporary_folder& folder, const std::string& calls) {
    write_all(folder / "calls", calls);
    const std::string call = std::string(SECOND_IMPLEMENTATION) + " < " +
                             (folder / "calls").string() + " > " + (folder / "answers").string();
    REQUIRE(std::system(call.c_str()) == 0);
    std::ifstream in(folder / "answers");
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

} // namespace

TEST_CASE_METHOD(seeded, "a program written from the format alone has the same roots and proofs") {
    temporary_folder folder;
    std::ostringstream calls;
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
    REQUIRE(second_answers(folder, calls.str()) == expected);
}

TEST_CASE_METHOD(seeded, "a program written from the format alone reads the file of leaves") {
    temporary_folder folder;
    const sample one(random, 1 + random.below(20), 200);
    const auto file = folder / state_root::leaves_file_name;
    state_root::write_leaves(file, one.tree);
    CHECK(second_answers(folder, "leaves " + file.string() + "\nroot\n") ==
          std::vector{hex_of(one.tree.root())});
}
