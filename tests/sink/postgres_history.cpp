#include <tools/sink/database.hpp>

#include <catch2/catch.hpp>
#include <tests/sink/filled_schema.hpp>
#include <tests/sink/naive_chain.hpp>
#include <tests/support/seeded.hpp>

#include <algorithm>
#include <string>

using namespace chainbase;
using namespace chainbase::sink;
using namespace chainbase::test;

TEST_CASE_METHOD(seeded, "a history in a server has the rows of each block since the bootstrap") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    filled_schema one(servers->dsn(), {&counter()}, {"counter"});
    const std::string history = one.table_called("counter.history");
    constexpr revision_number since = 100;
    one.begin(cursor_at(10, since - 2, false));
    naive_chain chain(random, since);
    // What is told before the rows are those of a block is no history.
    batch first;
    first.tables.push_back({&counter(), {}, {}});
    for (const auto& [id, number] : chain.states().at(since)) {
        put(first, counter(), id, counter_record(id, number));
        const row_change& change = first.tables.back().changes.back();
        first.tables.back().history.push_back(
            {history_change::kind::begin, id, since - 1, 1, change.begin, change.end});
    }
    one.apply(first, cursor_at(20, since - 1, false));
    one.apply({}, cursor_at(30, since));
    other_session other(servers->dsn());
    CHECK(as_of(other, history, since) == chain.states().at(since));
    for (std::uint64_t steps = short_test_operations(300); steps != 0; --steps) {
        batch changes;
        for (std::uint32_t entries = 1 + random.below(random.one_in(4) ? 30 : 4); entries != 0;
             --entries)
            chain.step(changes);
        std::ranges::sort(changes.tables.front().changes, {}, &row_change::id);
        one.apply(changes);
        for (const auto& [revision, rows] : chain.states())
            REQUIRE(as_of(other, history, revision) == rows);
        REQUIRE(as_of(other, history, chain.head() + 1'000) == chain.states().rbegin()->second);
        if (steps % 50 == 0) one.link = one.another();
    }
    const std::string at = one.table_called("counter.at");
    const revision_number middle = since + (chain.head() - since) / 2;
    CHECK(other.run("SELECT count(*) FROM " + at + "(" + std::to_string(middle) + ")").front() ==
          std::to_string(chain.states().at(middle).size()));
}

TEST_CASE("in a server a pop of the block that a history began with leaves the rows before") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    filled_schema one(servers->dsn(), {&counter()}, {"counter"});
    const std::string history = one.table_called("counter.history");
    one.begin(cursor_at(10, 5, false));
    batch changes;
    put(changes, counter(), 1, counter_record(1, 100));
    put(changes, counter(), 2, counter_record(2, 200));
    one.apply(changes, cursor_at(20, 5));
    changes = {};
    put(changes, counter(), 1, counter_record(1, 99));
    change(changes, counter(), 2, row_change::kind::erase);
    changes.tables.front().history = {{history_change::kind::undo, 1, 5, 1, 0, 12},
                                      {history_change::kind::undo, 2, 5, 1, 0, 0}};
    one.apply(changes);
    other_session other(servers->dsn());
    CHECK(as_of(other, history, 4) == numbers{{1, 99}});
    changes = {};
    put(changes, counter(), 1, counter_record(1, 98));
    changes.tables.front().history = {{history_change::kind::undo, 1, 4, 1, 0, 12}};
    one.apply(changes);
    CHECK(as_of(other, history, 3) == numbers{{1, 98}});
    CHECK(as_of(other, history, 4) == numbers{{1, 98}});
    CHECK(other.run("SELECT count(*) FROM " + history).front() == "1");
    one.now.epoch = 1;
    cursor again = cursor_at(10, 5, false);
    again.epoch = 2;
    one.begin(again);
    CHECK(other.run("SELECT count(*) FROM " + history).front() == "0");
}
