// Proofs that objects are there, or are not: those of a tree hold, and nothing that was made of one
// by changing it does.
#include <chainbase/state_root/proof.hpp>

#include <catch2/catch.hpp>
#include <tests/state_root/told_tree.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>

#include <optional>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using state_root::shown;

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
    [[nodiscard]] shown verify(std::uint32_t id, const proof& bytes) {
        return state_root::verify(told_.tree().root(), "account", id, content(id), bytes);
    }
    [[nodiscard]] sha256_digest content(std::uint32_t id) { return told_.content(number_of(id)); }
    [[nodiscard]] told_tree& told() { return told_; }

private:
    scratch_folder folder_;
    database db_{folder_ / "state", quick_options()};
    told_tree told_;
};

} // namespace

TEST_CASE("a proof shows what is in a state and what is not") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    for (const std::uint32_t end : {0, 2, 4, 40, 3'000, 60'000}) {
        CAPTURE(end);
        even_accounts state(end);
        std::size_t longest = 0;
        for (int tries = 0; tries < 300; ++tries) {
            const std::uint32_t id = random.below(end + 4);
            CAPTURE(id);
            const proof bytes = state.prove(id);
            const bool is_there = id % 2 == 0 && id < end;
            REQUIRE(state.verify(id, bytes) == (is_there ? shown::included : shown::excluded));
            const auto without =
                state_root::verify(state.told().tree().root(), "account", id, std::nullopt, bytes);
            REQUIRE(without == (is_there ? shown::nothing : shown::excluded));
            longest = std::max(longest, bytes.size());
        }
        CHECK(longest < 1200);
    }
}

TEST_CASE("no change of a proof leaves one") {
    const std::uint64_t seed = test_seed(new_seed());
    CAPTURE(seed);
    random_source random(seed);
    for (const std::uint32_t end : {2, 40, 5'000}) {
        even_accounts state(end);
        for (int tries = 0; tries < 12; ++tries) {
            const std::uint32_t id = random.below(end + 4);
            CAPTURE(end, id);
            const proof whole = state.prove(id);
            REQUIRE(state.verify(id, whole) != shown::nothing);
            for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
                proof changed = whole;
                changed[bit / 8] ^= std::byte(1u << bit % 8);
                REQUIRE(state.verify(id, changed) == shown::nothing);
            }
            for (std::size_t length = 0; length < whole.size(); ++length)
                REQUIRE(state.verify(id, {whole.begin(),
                                          whole.begin() + static_cast<std::ptrdiff_t>(length)}) ==
                        shown::nothing);
            for (int byte = 0; byte < 256; ++byte) {
                proof longer = whole;
                longer.push_back(std::byte(byte));
                REQUIRE(state.verify(id, longer) == shown::nothing);
            }
        }
    }
}

TEST_CASE("an object's own leaf does not show that it is not there") {
    even_accounts state(5'000);
    proof forged = state.prove(8);
    REQUIRE(state.verify(8, forged) == shown::included);
    forged.back() = std::byte(2); // another object's leaf, which comes now
    const sha256_digest key = state.told().exists(0, 8, 1).key;
    const sha256_digest content = state.content(8);
    forged.insert(forged.end(), key.begin(), key.end());
    forged.insert(forged.end(), content.begin(), content.end());
    CHECK(state.verify(8, forged) == shown::nothing);
}

TEST_CASE("a proof is of its object and its root and its content only") {
    even_accounts state(5'000);
    const sha256_digest root = state.told().tree().root();
    const proof bytes = state.prove(8);
    using state_root::verify;
    REQUIRE(verify(root, "account", 8, state.content(8), bytes) == shown::included);
    CHECK(verify(root, "account", 10, state.content(10), bytes) == shown::nothing);
    CHECK(verify(root, "account", 10, state.content(8), bytes) == shown::nothing);
    CHECK(verify(root, "account", 8, state.content(10), bytes) == shown::nothing);
    CHECK(verify(root, "post", 8, state.content(8), bytes) == shown::nothing);
    const proof absent = state.prove(9);
    REQUIRE(verify(root, "account", 9, std::nullopt, absent) == shown::excluded);
    CHECK(verify(root, "account", 8, state.content(8), absent) == shown::nothing);
    CHECK(verify(root, "account", 11, std::nullopt, absent) == shown::nothing);
    state.told().update({state.told().exists(0, 100, 1)});
    CHECK(verify(state.told().tree().root(), "account", 8, state.content(8), bytes) ==
          shown::nothing);
}
