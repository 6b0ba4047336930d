#pragma once

#include <tools/sink/database.hpp>

#include <catch2/catch.hpp>
#include <tests/sink/row_changes.hpp>
#include <tests/support/random_source.hpp>

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

} // namespace chainbase::test
