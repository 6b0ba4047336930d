#pragma once

#include <tools/sink/database.hpp>

#include <catch2/catch.hpp>
#include <tests/sink/filled_database.hpp>
#include <tests/sink/row_changes.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/seeded.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace chainbase::test {

/// What each number is, of the objects there are.
using numbers = std::map<std::uint32_t, std::uint32_t>;

/// Blocks, some of which have several entries, and what was before each.
class naive_chain {
public:
    naive_chain(random_source& random, revision_number begin) : random_(random) {
        states_[begin] = {};
        for (std::uint32_t id = 0; id < 8; ++id)
            states_[begin][id] = id;
    }
    [[nodiscard]] const std::map<revision_number, numbers>& states() const { return states_; }
    [[nodiscard]] revision_number head() const { return states_.rbegin()->first; }

    /// Gathers one more entry.
    void step(batch& to) {
        const auto least = states_.begin()->first;
        if (head() > least && random_.one_in(3))
            pop(to);
        else
            push(to, random_.one_in(5) && head() > least ? head() : head() + 1);
    }
    void pop(batch& to) {
        const numbers now = states_.rbegin()->second;
        const revision_number revision = head();
        states_.erase(revision);
        const numbers& then = states_.rbegin()->second;
        tell(to, now, then, history_change::kind::undo, revision, 1);
    }

private:
    void push(batch& to, revision_number revision) {
        const numbers before = states_.rbegin()->second;
        numbers now = before;
        for (std::uint32_t changes = random_.below(6); changes != 0; --changes) {
            const std::uint32_t id = random_.below(12);
            if (random_.one_in(3))
                now.erase(id);
            else
                now[id] = random_.below(1'000'000);
        }
        states_[revision] = now;
        tell(to, before, now, history_change::kind::begin, revision, ++serial_);
    }

    void tell(batch& to, const numbers& before, const numbers& now, history_change::kind what,
              revision_number revision, std::uint32_t serial) {
        if (to.tables.empty()) to.tables.push_back({&counter(), {}, {}});
        for (std::uint32_t id = 0; id < 12; ++id) {
            const auto was = before.find(id);
            const auto is = now.find(id);
            const bool is_there = is != now.end();
            if ((was == before.end() && !is_there) ||
                (was != before.end() && is_there && was->second == is->second))
                continue;
            const std::size_t begin = to.records.size();
            if (is_there) archive::append(to.records, counter_record(id, is->second));
            const std::size_t end = to.records.size();
            std::erase_if(to.tables.back().changes, [&](auto& one) { return one.id == id; });
            to.tables.back().changes.push_back(
                {is_there ? row_change::kind::put : row_change::kind::erase, id, begin, end});
            const auto how =
                what == history_change::kind::undo || is_there ? what : history_change::kind::end;
            to.tables.back().history.push_back({how, id, revision, serial, begin, end});
        }
    }

    random_source& random_;
    std::map<revision_number, numbers> states_; ///< after each block
    std::uint32_t serial_ = 1;
};

/// The rows of a history as of a block. `Session::run`: the rows of a query, between `|`.
template <typename Session>
numbers as_of(Session& in, const std::string& table, revision_number revision) {
    const std::string at = std::to_string(revision);
    numbers found;
    for (const std::string& row :
         in.run("SELECT id, number FROM " + table + " WHERE from_revision <= " + at +
                " AND (until_revision IS NULL OR until_revision > " + at + ")")) {
        const std::size_t bar = row.find('|');
        REQUIRE(found.emplace(std::stoul(row), std::stoul(row.substr(bar + 1))).second);
    }
    return found;
}

/// Requires counters with a history, `history`. Returns the chain.
template <typename Session>
naive_chain require_histories_kept(filled_database& one, Session& other, const std::string& history,
                                   random_source& random) {
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
    first = {};
    if (random.one_in(2)) put(first, counter(), 0, counter_record(0, 0));
    one.apply(first, cursor_at(30, since));
    CHECK(as_of(other, history, since) == chain.states().at(since));
    for (std::uint64_t steps = short_test_operations(200); steps != 0; --steps) {
        batch changes;
        for (std::uint32_t entries = 1 + random.below(random.one_in(4) ? 30 : 4); entries != 0;
             --entries)
            chain.step(changes);
        std::ranges::sort(changes.tables.front().changes, {}, &row_change::id);
        one.apply(changes);
        for (const auto& [revision, rows] : chain.states())
            REQUIRE(as_of(other, history, revision) == rows);
        REQUIRE(as_of(other, history, chain.head() + 1'000) == chain.states().rbegin()->second);
        if (steps % 20 == 0) one.link = one.another();
    }
    return chain;
}

/// A history that begins at a block begins with the one before when that block is popped.
template <typename Session>
void require_history_begun_earlier(filled_database& one, Session& other,
                                   const std::string& history) {
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
    CHECK(as_of(other, history, 4) == numbers{{1, 99}});
    changes = {};
    put(changes, counter(), 1, counter_record(1, 98));
    changes.tables.front().history = {{history_change::kind::undo, 1, 4, 1, 0, 12}};
    one.apply(changes);
    CHECK(as_of(other, history, 3) == numbers{{1, 98}});
    CHECK(as_of(other, history, 4) == numbers{{1, 98}});
    CHECK(other.run("SELECT count(*) FROM " + history).front() == "1");
    cursor again = cursor_at(10, 5, false);
    again.epoch = 2;
    one.begin(again);
    CHECK(other.run("SELECT count(*) FROM " + history).front() == "0");
}

} // namespace chainbase::test
