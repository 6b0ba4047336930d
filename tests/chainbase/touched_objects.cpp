// Which objects the log of sessions names: all that were touched, each once, and nothing else.
#include <undo/session_changes.hpp>

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

#include <set>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace {

using ids = std::set<std::uint32_t>;

/// A state with 20 items and 20 cards.
struct items_and_cards {
    items_and_cards() : db(folder / "state", quick_options()) {
        db.add_type<item>("item");
        db.add_type<card>("card");
        for (std::uint32_t key = 0; key < 20; ++key) {
            make<item>(key);
            make<card>(key);
        }
    }
    template <typename T>
    void make(std::uint32_t key) {
        db.create<T>([&](T& one) { one.key = key; });
    }
    template <typename T>
    void change(std::uint32_t number) {
        db.modify(db.get(id<T>(number)), [](T& one) { ++one.value; });
    }
    template <typename T>
    void remove(std::uint32_t number) {
        db.remove(db.get(id<T>(number)));
    }
    /// Requires that nothing else was touched, and the order.
    void require_touched(revision_number since, const ids& items, const ids& cards) const {
        undo_log& log = *db.memory().log();
        const auto begin = log.find_session(since);
        REQUIRE(begin);
        std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
        for (const object_place& one : touched_objects(log, *begin))
            found.emplace_back(one.window, one.id);
        std::vector<std::pair<std::uint32_t, std::uint32_t>> expected;
        for (const std::uint32_t number : items)
            expected.emplace_back(db.memory().types().find("item")->first_window, number);
        for (const std::uint32_t number : cards)
            expected.emplace_back(db.memory().types().find("card")->first_window, number);
        REQUIRE(found == expected);
    }

    scratch_folder folder;
    database db;
};

} // namespace

TEST_CASE("touched objects are those that a session created, modified and removed") {
    items_and_cards s;
    session block = s.db.start_session();
    s.require_touched(block.revision(), {}, {});
    s.change<card>(7);
    s.change<item>(9);
    s.change<item>(3);
    s.change<item>(3); // once
    s.remove<item>(4);
    s.make<card>(100);
    s.require_touched(block.revision(), {3, 4, 9}, {7, 20});
    s.make<item>(101); // of which nothing is left
    s.remove<item>(20);
    s.db.modify(s.db.get(id<card>(5)), [](card&) {}); // is as it was
    s.require_touched(block.revision(), {3, 4, 9, 20}, {5, 7, 20});
}

TEST_CASE("sessions within a session leave nothing but what they touched") {
    items_and_cards s;
    session block = s.db.start_session();
    s.change<item>(1);
    for (std::uint32_t number = 2; number < 6; ++number) {
        session transaction = s.db.start_session();
        s.change<item>(number);
        s.require_touched(transaction.revision(), {number}, {});
        transaction.squash();
    }
    {
        const session undone = s.db.start_session();
        s.change<item>(15);
        s.change<card>(15);
    }
    const revision_number first = block.revision();
    s.require_touched(first, {1, 2, 3, 4, 5}, {});
    block.push();
    session next = s.db.start_session();
    s.change<card>(1);
    s.require_touched(next.revision(), {}, {1});
    s.require_touched(first, {1, 2, 3, 4, 5}, {1});
}
