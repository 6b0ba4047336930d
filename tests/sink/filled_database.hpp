#pragma once

#include <catch2/catch.hpp>
#include <tests/sink/row_changes.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/seeded.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace chainbase::test {

/// A database with tables, whose cursor moves with each change.
class filled_database {
public:
    virtual ~filled_database() = default;
    [[nodiscard]] virtual std::unique_ptr<database_link> another(bool reads_only = false) const = 0;

    /// Twice: where tables are, they stay.
    void make() {
        std::vector<std::string> statements = options_.tables.begin();
        for (const table* one : tables_) {
            std::ranges::move(options_.tables.create(*one, 0, true),
                              std::back_inserter(statements));
            std::ranges::move(options_.tables.index(*one), std::back_inserter(statements));
        }
        link->run(statements);
        link->run(statements);
    }
    void begin(const cursor& from) {
        link->begin_bootstrap(link->where(), from, tables_, "the catalogue");
        now = from;
    }
    void apply(const batch& changes, const cursor& to) {
        link->apply(changes, now, to);
        now = to;
    }
    [[nodiscard]] cursor next() const {
        cursor to = now;
        to.at = to.at.value() + 100;
        ++to.revision;
        return to;
    }
    void apply(const batch& changes) { apply(changes, next()); }

    std::unique_ptr<database_link> link;
    cursor now;

protected:
    filled_database(std::vector<const table*> tables, link_options options)
        : tables_(std::move(tables)), options_(std::move(options)) {}

    std::vector<const table*> tables_;
    link_options options_;
};

/// Requires a database that nothing was begun in.
inline void require_cursors_kept(filled_database& one) {
    CHECK_FALSE(one.link->where());
    CHECK(one.link->catalogue().empty());
    for (const bool has_feed : {true, false}) {
        cursor to = cursor_at(UINT64_MAX / 2, -5, false);
        if (!has_feed) to.at.reset();
        to.serial = UINT32_MAX;
        to.epoch = UINT64_MAX / 2;
        to.since = INT64_MIN;
        to.shard = 3;
        to.shards = 4;
        one.begin(to);
        CHECK(one.link->where() == to);
        CHECK(one.another(true)->where() == to);
        CHECK(one.link->catalogue() == "the catalogue");
        cursor next = to;
        next.at = 7;
        next.revision = next.since = 12; // the block at which it became ready
        next.is_ready = true;
        one.apply({}, next);
        CHECK(one.another()->where() == next);
    }
}

/// Loads and changes rows of thing() at random, against a model. Returns how many are hidden in the
/// end.
inline std::size_t require_rows_kept(filled_database& one, random_source& random) {
    random_records records(every_kind(), random);
    one.begin(cursor_at(0, 0, false));
    model wanted, hidden;
    load_batch first{&thing(), {}, {}};
    for (std::uint32_t id = 0; id < 50; ++id) {
        const archive::byte_buffer record = wanted[id * 3] = records.next(id * 3);
        first.rows.emplace_back(first.records.size(), first.records.size() + record.size());
        archive::append(first.records, record);
    }
    one.link->load(first);
    CHECK(rows_of(*one.link, thing()) == wanted);
    cursor ready = cursor_at(1, 1);
    ready.since = 1;
    one.apply({}, ready);
    for (std::uint64_t block = short_test_operations(40); block != 0; --block) {
        batch changes;
        std::set<std::uint32_t> ids;
        for (int i = 0; i < 20; ++i)
            ids.insert(random.one_in(10) ? UINT32_MAX - random.below(3) : random.below(150));
        for (const std::uint32_t id : ids) {
            if (hidden.contains(id)) {
                change(changes, thing(), id, row_change::kind::restore);
                wanted.insert(hidden.extract(id));
            } else if (random.one_in(4)) {
                change(changes, thing(), id, row_change::kind::erase);
                wanted.erase(id);
            } else if (random.one_in(6)) {
                change(changes, thing(), id, row_change::kind::hide);
                if (wanted.contains(id)) hidden.insert(wanted.extract(id));
            } else {
                put(changes, thing(), id, wanted[id] = records.next(id));
            }
        }
        one.apply(changes);
        if (block % 8 == 0) one.link = one.another();
    }
    CHECK(rows_of(*one.link, thing()) == wanted);
    CHECK(rows_of(*one.another(true), thing()) == wanted);
    CHECK(one.link->where() == one.now);
    return hidden.size();
}

/// Requires counters. Who is not where the cursor is changes nothing; returns what he is told.
inline std::string require_fenced(filled_database& one) {
    one.begin(cursor_at(10, 1, false));
    batch first;
    put(first, counter(), 1, counter_record(1, 1));
    one.apply(first, cursor_at(20, 2));
    one.now.since = 2;
    const auto second = one.another();
    std::string message;
    const auto refused = [&](const cursor& from) {
        batch more;
        put(more, counter(), 2, counter_record(2, 2));
        message = message_of<fenced_error>([&] { second->apply(more, from, cursor_at(30, 3)); });
        CHECK(message.find(second->name()) == 0);
        CHECK(message.find("another sink follows into this database") != std::string::npos);
        CHECK(message.find("position 20") != std::string::npos);
        CHECK(one.another()->where()->at == one.now.at);
        CHECK(rows_of(*one.link, counter()).size() == 1);
    };
    refused(cursor_at(10, 1));
    refused(cursor_at(30, 3));
    cursor other_epoch = one.now;
    other_epoch.epoch = 2;
    refused(other_epoch);
    cursor without_feed = one.now;
    without_feed.at.reset();
    refused(without_feed);

    const load_batch rows{&counter(), {{0, 12}}, counter_record(5, 5)};
    CHECK_THROWS_AS(one.link->load(rows), fenced_error); // it is ready
    CHECK_THROWS_AS(second->begin_bootstrap(std::nullopt, cursor_at(0, 0, false), {}, ""),
                    fenced_error);
    CHECK_THROWS_AS(second->begin_bootstrap(without_feed, cursor_at(0, 0, false), {}, ""),
                    fenced_error);
    CHECK(rows_of(*one.link, counter()).size() == 1);
    CHECK(one.link->catalogue() == "the catalogue");

    cursor again = cursor_at(40, 4, false);
    again.epoch = 2;
    one.begin(again);
    one.link->load(rows);
    again.epoch = 3;
    const table* const tables[] = {&counter()};
    second->begin_bootstrap(second->where(), again, tables, "");
    CHECK_THROWS_AS(one.link->load(rows), fenced_error); // that of another sink
    CHECK_NOTHROW(second->load(rows));
    return message;
}

/// Requires counters. `removed`: the name of counter.removed in SQL.
template <typename Session>
void require_removed_emptied(filled_database& one, Session& other, const std::string& removed) {
    one.begin(cursor_at(10, 1, false));
    batch all;
    for (std::uint32_t id = 0; id < 4; ++id)
        put(all, counter(), id, counter_record(id, 1));
    one.apply(all, cursor_at(20, 2));
    for (std::uint32_t id = 0; id < 3; ++id) { // in the blocks 3, 4, 5
        batch hides;
        change(hides, counter(), id, row_change::kind::hide);
        one.apply(hides);
    }
    const auto ids = [&] { return other.run("SELECT id FROM " + removed + " ORDER BY id"); };
    CHECK(ids() == std::vector<std::string>{"0", "1", "2"});
    batch told;
    told.tables.push_back({&counter(), {}, {}});
    told.tables.back().irreversible = 4;
    one.apply(told);
    CHECK(ids() == std::vector<std::string>{"2"});
    batch popped;
    change(popped, counter(), 2, row_change::kind::restore);
    one.apply(popped);
    CHECK(ids().empty());
    CHECK(rows_of(*one.link, counter()).size() == 2);
}

} // namespace chainbase::test
