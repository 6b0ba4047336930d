/// fork_tree alone: against a naive model, and at its limits. Nothing is applied here; the walk
/// keeps a stack of applied blocks.

#include <tools/driver/sync/fork_tree.hpp>

#include <catch2/catch.hpp>
#include <tests/sync/payments_chains.hpp>
#include <tests/tools/forged_block.hpp>

#include <map>
#include <memory>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using driver::block_place;
using driver::fork_tree;
using outcome = fork_tree::outcome;

namespace {

/// A tree, its model, and a state that follows the tree's instructions.
struct story {
    payments_tree model;
    fork_tree tree;
    std::vector<std::size_t> applied{0};                ///< entries of the model, up to the head
    std::map<std::uint64_t, std::size_t> by_checksum{}; ///< of those that were inserted

    explicit story(std::size_t lag, fork_tree::limits bounds = {})
        : model(lag), tree({block_place{}}, lag, bounds) {}

    [[nodiscard]] fork_tree::incoming incoming(std::size_t index, std::uint64_t source = 0) const {
        const auto& one = model.at(index);
        return {model.at(one.parent).place, one.place,
                decoder_of("payments")(encode_block(one.value)), source};
    }
    outcome insert(std::size_t index, std::uint64_t source = 0) {
        by_checksum[checksum_of(model.at(index).value)] = index;
        return tree.insert(incoming(index, source));
    }
    /// Inserts and moves to the best branch; bad blocks are found while applying. Returns whether
    /// every block on the way was good.
    bool go(std::size_t index, outcome expected = outcome::added) {
        if (insert(index) != expected) return false;
        while (const auto way = tree.to_best()) {
            for (std::size_t i = 0; i < way->pops; ++i) {
                if (!tree.popped()) return false;
                applied.pop_back();
            }
            for (const decoded_block* next : way->apply) {
                const std::size_t at = by_checksum.at(next->checksum());
                if (model.at(at).parent != applied.back()) return false;
                if (!model.at(at).is_valid) {
                    tree.reject("bad");
                    break;
                }
                tree.applied();
                applied.push_back(at);
            }
        }
        return true;
    }
    /// The first block, and so many behind it.
    std::vector<std::size_t> begin(std::size_t more) {
        std::vector<std::size_t> chain = model.grow(1, more);
        chain.insert(chain.begin(), 1);
        for (const std::size_t one : chain)
            REQUIRE(go(one));
        return chain;
    }
};

} // namespace

TEST_CASE("after any order of blocks, the tree is where a naive model is") {
    int forked = 0;
    int bad = 0;
    check_property(100, 150, [&] {
        story all(*rc::gen::inRange<std::size_t>(0, 12));
        RC_ASSERT(all.go(1));
        for (const growth& how : *any_growth(30, 7, 12)) {
            const std::size_t next = all.model.add(how);
            const bool follows_bad =
                all.tree.bad(all.model.at(all.model.at(next).parent).place.id).has_value();
            RC_ASSERT(all.go(next, follows_bad ? outcome::bad : outcome::added));
            RC_ASSERT(!follows_bad || !all.model.at(next).is_valid);
            RC_ASSERT(all.tree.head() == all.model.at(all.model.head()).place);
            RC_ASSERT(all.tree.root() == all.model.at(all.model.root()).place);
            RC_ASSERT(all.applied.back() == all.model.head());
            RC_ASSERT(all.insert(next) != outcome::added);
            static_cast<void>(all.tree.take_freed());
            forked += how.beside != 0 ? 1 : 0;
            bad += follows_bad ? 1 : 0;
        }
    });
    CHECK(forked > 100);
    CHECK(bad > 10);
}

TEST_CASE("what is not linked to the tree, or not as it says, stays out") {
    story all(2);
    CHECK(all.insert(all.model.add(1)) == outcome::unlinked);
    const auto chain = all.begin(5);
    CHECK(all.tree.root() == all.model.at(chain[3]).place);
    CHECK(all.insert(all.model.add(chain[1])) == outcome::below_root);
    CHECK(all.insert(chain.back()) == outcome::known);
    auto wrong = all.incoming(all.model.add(chain.back()));
    wrong.parent.number -= 1;
    CHECK(all.tree.insert(std::move(wrong)) == outcome::wrong_numbers);
    auto falling = all.incoming(all.model.add(chain.back()));
    falling.place.number = falling.parent.number;
    CHECK(all.tree.insert(std::move(falling)) == outcome::wrong_numbers);
}

TEST_CASE("side branches have a limit, which the chain itself has not") {
    story all(10, {5, 1 << 20, 10});
    const auto chain = all.begin(3);
    for (int i = 0; i < 5; ++i)
        CHECK(all.insert(all.model.add(1), 7) == outcome::added);
    CHECK(all.insert(all.model.add(1), 7) == outcome::full);
    std::size_t head = chain.back();
    for (const std::size_t one : all.model.grow(head, 6))
        REQUIRE(all.go(head = one));
    CHECK(all.tree.waiting() == 5);
    all.tree.forget_from(7);
    CHECK(all.tree.waiting() == 0);
    CHECK(all.tree.head() == all.model.at(head).place);
    CHECK(all.insert(all.model.add(1), 8) == outcome::added);
}

TEST_CASE("what side branches take is what their blocks are when they are decoded") {
    story all(10, {1000, 1 << 14, 10});
    all.begin(1);
    auto beside = all.incoming(all.model.add(1));
    beside.content = decoder_of("payments")(block_of_nothing(2, 2000, 2000));
    CHECK(beside.content->bytes() < 1 << 14);
    CHECK(all.tree.insert(std::move(beside)) == outcome::full);
}

TEST_CASE("ids of bad blocks are remembered, but not without end") {
    story all(4, {100, 1 << 20, 3});
    all.begin(0);
    std::vector<std::size_t> bad;
    for (int i = 0; i < 5; ++i) {
        bad.push_back(all.model.add(1, true));
        REQUIRE(all.go(bad.back()));
        CHECK(all.insert(bad.back()) == outcome::bad);
    }
    CHECK_FALSE(all.tree.bad(all.model.at(bad[0]).place.id));
    CHECK(all.tree.bad(all.model.at(bad[4]).place.id) == "bad");
    const std::size_t child = all.model.add(bad[4]);
    CHECK(all.insert(child) == outcome::bad);
    CHECK(all.tree.bad(all.model.at(child).place.id) == "bad");
}
