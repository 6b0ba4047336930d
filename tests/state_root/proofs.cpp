// Proofs of presence and absence, and forged ones.

#include <chainbase/state_root/proof.hpp>
#include <chainbase/state_root/tree_hash.hpp>

#include <catch2/catch.hpp>
#include <tests/state_root/modelled_tree.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>

#include <cstdint>
#include <optional>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using state_root::proof_result;

// Proofs of presence and absence: a tree's own proofs hold, and no altered copy of one does.

namespace {

using proof = std::vector<std::byte>;

/// A state in which account i has the number i * i, for the even ones below `end`.
class even_accounts {
public:
    explicit even_accounts(std::uint32_t end) : told_(db_) {
        std::vector<state_root::leaf_change> all;
        for (std::uint32_t id = 0; id < end; id += 2)
            all.push_back(told_.exists(0, id, number_of(id)));
        told_.update(all);
    }
    static std::uint64_t number_of(std::uint32_t id) { return std::uint64_t{id} * id; }

    [[nodiscard]] proof prove(std::uint32_t id) {
        return state_root::prove(
            told_.tree().nodes(), "account", id,
            [&](std::string_view, std::uint32_t other) { return told_.content(number_of(other)); });
    }
    [[nodiscard]] proof_result verify(std::uint32_t id, const proof& bytes) {
        return state_root::verify(told_.tree().root(), "account", id, content(id), bytes);
    }
    [[nodiscard]] sha256_digest content(std::uint32_t id) { return told_.content(number_of(id)); }
    [[nodiscard]] modelled_tree& told() { return told_; }

private:
    scratch_folder folder_;
    database db_{folder_ / "state", quick_options()};
    modelled_tree told_;
};

} // namespace

TEST_CASE_METHOD(seeded, "a proof shows what is in a state and what is not") {
    for (const std::uint32_t end : {0, 2, 4, 40, 3'000, 60'000}) {
        CAPTURE(end);
        even_accounts state(end);
        std::size_t longest = 0;
        for (int tries = 0; tries < 300; ++tries) {
            const std::uint32_t id = random.below(end + 4);
            CAPTURE(id);
            const proof bytes = state.prove(id);
            const bool is_there = id % 2 == 0 && id < end;
            REQUIRE(state.verify(id, bytes) ==
                    (is_there ? proof_result::included : proof_result::excluded));
            const auto without =
                state_root::verify(state.told().tree().root(), "account", id, std::nullopt, bytes);
            REQUIRE(without == (is_there ? proof_result::invalid : proof_result::excluded));
            longest = std::max(longest, bytes.size());
        }
        CHECK(longest < 1200);
    }
}

TEST_CASE_METHOD(seeded, "no change of a proof leaves one") {
    for (const std::uint32_t end : {2, 40, 5'000}) {
        even_accounts state(end);
        for (int tries = 0; tries < 12; ++tries) {
            const std::uint32_t id = random.below(end + 4);
            CAPTURE(end, id);
            const proof whole = state.prove(id);
            REQUIRE(state.verify(id, whole) != proof_result::invalid);
            for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
                proof changed = whole;
                changed[bit / 8] ^= std::byte(1u << bit % 8);
                REQUIRE(state.verify(id, changed) == proof_result::invalid);
            }
            for (std::size_t length = 0; length < whole.size(); ++length)
                REQUIRE(state.verify(id, {whole.begin(),
                                          whole.begin() + static_cast<std::ptrdiff_t>(length)}) ==
                        proof_result::invalid);
            for (int byte = 0; byte < 256; ++byte) {
                proof longer = whole;
                longer.push_back(std::byte(byte));
                REQUIRE(state.verify(id, longer) == proof_result::invalid);
            }
        }
    }
}

TEST_CASE("an object's own leaf does not show that it is not there") {
    even_accounts state(5'000);
    proof forged = state.prove(8);
    REQUIRE(state.verify(8, forged) == proof_result::included);
    forged.back() = std::byte(2); // another object's leaf, which comes now
    const sha256_digest key = state.told().exists(0, 8, 1).key;
    const sha256_digest content = state.content(8);
    forged.insert(forged.end(), key.begin(), key.end());
    forged.insert(forged.end(), content.begin(), content.end());
    CHECK(state.verify(8, forged) == proof_result::invalid);
}

TEST_CASE("a proof is of its object and its root and its content only") {
    even_accounts state(5'000);
    const sha256_digest root = state.told().tree().root();
    const proof bytes = state.prove(8);
    using state_root::verify;
    REQUIRE(verify(root, "account", 8, state.content(8), bytes) == proof_result::included);
    CHECK(verify(root, "account", 10, state.content(10), bytes) == proof_result::invalid);
    CHECK(verify(root, "account", 10, state.content(8), bytes) == proof_result::invalid);
    CHECK(verify(root, "account", 8, state.content(10), bytes) == proof_result::invalid);
    CHECK(verify(root, "post", 8, state.content(8), bytes) == proof_result::invalid);
    const proof absent = state.prove(9);
    REQUIRE(verify(root, "account", 9, std::nullopt, absent) == proof_result::excluded);
    CHECK(verify(root, "account", 8, state.content(8), absent) == proof_result::invalid);
    CHECK(verify(root, "account", 11, std::nullopt, absent) == proof_result::invalid);
    state.told().update({state.told().exists(0, 100, 1)});
    CHECK(verify(state.told().tree().root(), "account", 8, state.content(8), bytes) ==
          proof_result::invalid);
}

// Forged proofs, each of which violates one condition of a step or an end. And proofs of objects at
// another object's place.

namespace {

using proof = std::vector<std::byte>;

constexpr std::byte with_object{0};
constexpr std::byte with_nothing{1};
constexpr std::byte with_another{2};

void add(proof& to, std::uint16_t branches) {
    to.push_back(static_cast<std::byte>(branches));
    to.push_back(static_cast<std::byte>(branches >> 8));
}

void add(proof& to, const sha256_digest& digest) {
    for (const std::byte one : digest)
        to.push_back(one);
}

proof of_levels(unsigned count) {
    return {std::byte{1}, static_cast<std::byte>(count)};
}

/// How many a step has of a node where the own branch leads nowhere.
unsigned digests_of(std::uint16_t branches) {
    if (!state_root::tree_hash::is_grouped(branches)) return state_root::count_of(branches);
    unsigned groups = 0;
    for (unsigned number = 0; number < state_root::groups_per_node; ++number)
        groups += state_root::tree_hash::group_of(branches, number) != 0;
    return groups;
}

/// What a proof shows of account 0 with the content of 32 zeros.
proof_result shown_by(const sha256_digest& root, const proof& bytes) {
    return state_root::verify(root, "account", 0, sha256_digest{}, bytes);
}

} // namespace

TEST_CASE("nothing is in a tree without nodes") {
    const sha256_digest no_objects{};
    proof bytes = of_levels(0);
    bytes.push_back(with_nothing);
    CHECK(shown_by(no_objects, bytes) == proof_result::excluded);
    CHECK(shown_by(sha256().of(bytes), bytes) == proof_result::invalid);
    bytes.back() = with_object;
    CHECK(shown_by(no_objects, bytes) == proof_result::invalid);
    bytes.back() = with_another;
    add(bytes, sha256().of(bytes));
    add(bytes, sha256_digest{});
    CHECK(shown_by(no_objects, bytes) == proof_result::invalid);
}

TEST_CASE("a leaf has to be the child of the last node") {
    const sha256_digest key = state_root::tree_hash().key("account", 0);
    const unsigned digit = state_root::digit(key, 0);
    for (const std::byte end : {with_object, with_another})
        for (unsigned children = 1; children < state_root::branches_per_node; ++children) {
            CAPTURE(children);
            std::uint16_t branches = 0;
            for (unsigned at = 0; state_root::count_of(branches) < children; ++at)
                if (at != digit) branches = static_cast<std::uint16_t>(branches | 1u << at);
            proof bytes = of_levels(1);
            add(bytes, branches);
            for (unsigned left = digests_of(branches); left != 0; --left)
                add(bytes, key);
            bytes.push_back(end);
            if (end == with_another) {
                add(bytes, sha256_digest{});
                add(bytes, sha256_digest{});
            }
            CHECK(shown_by(key, bytes) == proof_result::invalid);
        }
}

TEST_CASE("a proof has at most as many levels as a key has digits") {
    for (const unsigned levels : {63u, 64u, 65u, 255u}) {
        CAPTURE(levels);
        proof bytes = of_levels(levels);
        for (unsigned level = 0; level < levels; ++level)
            add(bytes, std::uint16_t{0});
        bytes.push_back(with_nothing);
        CHECK(shown_by(sha256_digest{}, bytes) == proof_result::invalid);
    }
}

TEST_CASE("a proof of more levels than a key has digits holds for no root") {
    state_root::tree_hash hash;
    const sha256_digest key = hash.key("account", 0);
    const auto shown_with = [&](unsigned levels, unsigned last_digit) {
        sha256_digest root = hash.leaf(key, sha256_digest{});
        std::vector<std::uint16_t> branches;
        for (unsigned level = 0; level < levels; ++level) {
            const unsigned digit =
                level < state_root::max_levels ? state_root::digit(key, level) : last_digit;
            branches.push_back(static_cast<std::uint16_t>(1u << digit));
        }
        for (unsigned level = levels; level-- != 0;)
            root = hash.node(branches[level], std::vector{root});
        proof bytes = of_levels(levels);
        for (const std::uint16_t one : branches)
            add(bytes, one);
        bytes.push_back(with_object);
        return shown_by(root, bytes);
    };
    CHECK(shown_with(state_root::max_levels, 0) == proof_result::included);
    for (unsigned digit = 0; digit < state_root::branches_per_node; ++digit)
        CHECK(shown_with(state_root::max_levels + 1, digit) == proof_result::invalid);
}

TEST_CASE("another object's leaf shows nothing where its key does not lead") {
    state_root::tree_hash hash;
    const sha256_digest key = hash.key("account", 0);
    const unsigned digit = state_root::digit(key, 0);
    const auto branches = static_cast<std::uint16_t>(1u << digit);
    const auto shown_by_leaf_of = [&](std::uint32_t other) {
        const sha256_digest other_key = hash.key("account", other);
        proof bytes = of_levels(1);
        add(bytes, branches);
        bytes.push_back(with_another);
        add(bytes, other_key);
        add(bytes, sha256_digest{});
        const std::vector leaf{hash.leaf(other_key, sha256_digest{})};
        return shown_by(hash.node(branches, leaf), bytes);
    };
    for (std::uint32_t other = 1; other < 200; ++other) {
        CAPTURE(other);
        const bool leads_there = state_root::digit(hash.key("account", other), 0) == digit;
        CHECK(shown_by_leaf_of(other) ==
              (leads_there ? proof_result::excluded : proof_result::invalid));
    }
}

TEST_CASE_METHOD(modelled_tree_state,
                 "a proof tells an object from one of another type with the same number") {
    const std::uint32_t id = told.id_of_two();
    told.update({told.exists(0, id, 1)});
    const sha256_digest content = told.content(1);
    const auto shown_of = [&](std::string_view type, std::uint32_t number) {
        const proof bytes = state_root::prove(told.tree().nodes(), type, number,
                                              [&](auto, auto) { return content; });
        return state_root::verify(told.tree().root(), type, number, content, bytes);
    };
    CHECK(shown_of("account", id) == proof_result::included);
    CHECK(shown_of("post", id) == proof_result::excluded);
    std::uint32_t other = id + 1;
    while (state_root::digit(told.exists(0, id, 1).key, 0) !=
           state_root::digit(told.exists(0, other, 1).key, 0))
        ++other;
    CHECK(shown_of("account", other) == proof_result::excluded);
}
