// A tree that follows changes in a thread, against digests that are made from the records one by
// one.

#include <chainbase/state_root/background_tree.hpp>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/seeded.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using state_root::background_tree;
using state_root::block_digests;
using state_root::leaf_update;
using state_root::no_digest;
using state_root::object_changes;
using state_root::state_tree;

namespace {

const std::vector<std::string> names{"account", "post", "vote"};

using bytes = std::vector<std::byte>;
using place = std::pair<std::uint32_t, std::uint32_t>; ///< type and id

/// Objects as they have become; nothing: they are no more.
using changed_objects = std::map<place, std::optional<bytes>>;

bytes any_record(random_source& random) {
    bytes record(random.below(200));
    for (std::byte& one : record)
        one = static_cast<std::byte>(random.below(256));
    return record;
}

/// Up to `most` of them with ids below `range`, of which `gone` in a thousand are removed.
changed_objects any_changes(random_source& random, std::uint32_t most, std::uint32_t range,
                            std::uint32_t gone) {
    changed_objects all;
    for (std::uint32_t left = random.below(most + 1); left != 0; --left) {
        auto& one = all[{random.below(3), random.below(range)}];
        one.reset();
        if (!random.chance(gone)) one = any_record(random);
    }
    return all;
}

object_changes in(object_changes to, const changed_objects& from) {
    for (const auto& [where, record] : from) {
        if (record) to.records.insert(to.records.end(), record->begin(), record->end());
        to.add(where.first, where.second, record.has_value());
    }
    return to;
}

bytes little_endian(std::uint32_t number) {
    bytes all;
    for (unsigned i = 0; i < 4; ++i)
        all.push_back(static_cast<std::byte>(number >> 8 * i));
    return all;
}

/// What a tree is to come to, in one thread and without the tree's memory.
class reference {
public:
    block_digests update(const changed_objects& changes) {
        sha256 writes;
        for (const auto& [where, record] : changes) {
            const sha256_digest leaf = record ? sha256().of(*record) : no_digest;
            writes.add(little_endian(where.first));
            writes.add(little_endian(where.second));
            writes.add(leaf);
            leaves_[where] = leaf;
        }
        return {root(), writes.finish()};
    }
    [[nodiscard]] sha256_digest root() const {
        state_tree tree(names);
        for (const auto& [where, leaf] : leaves_)
            tree.update(where.first, std::vector<leaf_update>{{where.second, leaf}});
        return tree.root();
    }

private:
    std::map<place, sha256_digest> leaves_;
};

/// Blocks and what each comes to.
struct block {
    changed_objects changes;
    block_digests expected;
};

std::vector<block> any_blocks(random_source& random, int count, std::uint32_t most,
                              std::uint32_t range) {
    reference one;
    std::vector<block> all;
    for (int number = 0; number < count; ++number) {
        const bool shrinks = number % 10 > 6;
        auto changes = any_changes(random, most, range, shrinks ? 900 : 100);
        const block_digests expected = one.update(changes);
        all.push_back({std::move(changes), expected});
    }
    return all;
}

bool is_as(const block& of, const std::shared_future<block_digests>& done) {
    return done.get().root == of.expected.root && done.get().writes == of.expected.writes;
}

constexpr unsigned numbers_of_threads[] = {0, 1, 2, 4};

/// Sends all blocks at once, then looks at what they came to.
void follow_all(const std::vector<block>& blocks, unsigned threads) {
    CAPTURE(threads);
    background_tree tree(names, threads);
    std::vector<std::shared_future<block_digests>> done;
    for (const block& one : blocks)
        done.push_back(tree.update(in(tree.empty_changes(), one.changes)));
    for (std::size_t number = 0; number < blocks.size(); ++number) {
        CAPTURE(number);
        REQUIRE(is_as(blocks[number], done[number]));
    }
    CHECK(tree.settled().root() == blocks.back().expected.root);
}

} // namespace

TEST_CASE_METHOD(seeded, "many small blocks come to what their records do, with any threads") {
    const auto blocks = any_blocks(random, 150, 12, 60);
    for (const unsigned threads : numbers_of_threads)
        follow_all(blocks, threads);
}

TEST_CASE_METHOD(seeded, "few large blocks come to what their records do, with any threads") {
    const auto blocks = any_blocks(random, 4, 6'000, 70'000);
    for (const unsigned threads : numbers_of_threads)
        follow_all(blocks, threads);
}

TEST_CASE_METHOD(seeded, "a tree that is asked after each block has what was sent so far") {
    const auto blocks = any_blocks(random, 40, 30, 100);
    for (const unsigned threads : numbers_of_threads) {
        background_tree tree(names, threads);
        CHECK(tree.settled().root() == state_tree(names).root());
        for (const block& one : blocks) {
            const auto done = tree.update(in({}, one.changes));
            REQUIRE(tree.settled().root() == one.expected.root);
            REQUIRE(done.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
            REQUIRE(is_as(one, done));
        }
    }
}

TEST_CASE_METHOD(seeded, "a block that changes nothing has the digest of no writes") {
    for (const unsigned threads : numbers_of_threads) {
        background_tree tree(names, threads);
        const block_digests found = tree.update({}).get();
        CHECK(found.root == state_tree(names).root());
        CHECK(hex(found.writes) ==
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}

TEST_CASE_METHOD(seeded, "a tree goes on where another one was") {
    const auto blocks = any_blocks(random, 20, 300, 1'000);
    for (const unsigned threads : numbers_of_threads) {
        state_tree begun(names);
        for (int number = 0; number < 10; ++number)
            for (const auto& [where, record] : blocks[static_cast<std::size_t>(number)].changes)
                begun.update(where.first,
                             std::vector<leaf_update>{
                                 {where.second, record ? sha256().of(*record) : no_digest}});
        background_tree tree(std::move(begun), threads);
        CHECK(tree.settled().types() == names);
        CHECK(tree.settled().root() == blocks[9].expected.root);
        for (std::size_t number = 10; number < blocks.size(); ++number)
            REQUIRE(is_as(blocks[number], tree.update(in({}, blocks[number].changes))));
    }
}

TEST_CASE_METHOD(seeded, "blocks can be waited for in other threads") {
    const auto blocks = any_blocks(random, 200, 40, 100);
    background_tree tree(names, 1);
    std::vector<std::future<bool>> waiting;
    for (const block& one : blocks) {
        const auto done = tree.update(in(tree.empty_changes(), one.changes));
        if (waiting.size() < 20)
            waiting.push_back(
                std::async(std::launch::async, [&one, done] { return is_as(one, done); }));
    }
    for (auto& one : waiting)
        CHECK(one.get());
    CHECK(tree.settled().root() == blocks.back().expected.root);
}

TEST_CASE_METHOD(seeded, "a caller that is far ahead waits, and nothing is lost") {
    // Two of these are more than may wait at once: the third waits until the first is done.
    constexpr std::size_t record_bytes = std::size_t{20} << 20;
    for (const unsigned threads : {1u, 2u}) {
        reference digests;
        std::vector<block> blocks;
        for (std::uint32_t id = 0; id < 5; ++id) {
            changed_objects one{
                {{id % 3, id}, bytes(record_bytes, static_cast<std::byte>(random.below(256)))}};
            const block_digests expected = digests.update(one);
            blocks.push_back({std::move(one), expected});
        }
        std::vector<object_changes> changes;
        for (const block& one : blocks)
            changes.push_back(in({}, one.changes));
        background_tree tree(names, threads);
        std::vector<std::shared_future<block_digests>> done;
        for (object_changes& one : changes) {
            done.push_back(tree.update(std::move(one)));
            if (done.size() < 3) continue;
            const auto& earlier = done[done.size() - 3];
            CHECK(earlier.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
        }
        for (std::size_t number = 0; number < blocks.size(); ++number)
            CHECK(is_as(blocks[number], done[number]));
    }
}

TEST_CASE_METHOD(seeded, "what was sent to a tree that is destroyed then is done") {
    const auto blocks = any_blocks(random, 60, 300, 1'000);
    for (const unsigned threads : numbers_of_threads) {
        std::vector<std::shared_future<block_digests>> done;
        {
            background_tree tree(names, threads);
            for (const block& one : blocks)
                done.push_back(tree.update(in({}, one.changes)));
        }
        for (std::size_t number = 0; number < blocks.size(); ++number) {
            REQUIRE(done[number].wait_for(std::chrono::seconds(0)) == std::future_status::ready);
            REQUIRE(is_as(blocks[number], done[number]));
        }
    }
}

TEST_CASE_METHOD(seeded, "a change of a type that the tree does not have fails it for good") {
    const auto blocks = any_blocks(random, 3, 30, 100);
    for (const unsigned threads : numbers_of_threads) {
        background_tree tree(names, threads);
        const auto good = tree.update(in({}, blocks[0].changes));
        const auto bad = tree.update(in({}, {{{3, 0}, bytes{}}}));
        const auto later = tree.update(in({}, blocks[1].changes));
        CHECK(is_as(blocks[0], good));
        CHECK_THROWS_AS(bad.get(), std::out_of_range);
        CHECK_THROWS_AS(later.get(), std::out_of_range);
        CHECK_THROWS_AS(tree.settled(), std::out_of_range);
    }
}

TEST_CASE("a fork can destroy the tree of its parent") {
    background_tree tree(names, 2);
    auto other = std::make_unique<background_tree>(names, 2);
    (void)other->update({}).get();
    CHECK(succeeds_in_child([&] { other.reset(); }));
    CHECK(other->update({}).get().root == state_tree(names).root());
}
