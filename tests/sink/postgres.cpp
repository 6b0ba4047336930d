#include <pool_allocator/base/error.hpp>
#include <tools/sink/database.hpp>

#include <catch2/catch.hpp>
#include <tests/sink/filled_schema.hpp>
#include <tests/support/seeded.hpp>

#include <atomic>
#include <chrono>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::sink;
using namespace chainbase::test;

TEST_CASE("a server has no cursor before a bootstrap, and keeps what it has") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    const link_options none{.tables = ddl({dialect::postgres, "none", {}})};
    const auto link = open_postgres(servers->dsn(), none);
    CHECK(link->name().starts_with("postgresql://postgres@127.0.0.1:"));
    CHECK_FALSE(link->where());
    CHECK(link->catalogue().empty());
    filled_schema one(servers->dsn(), {&thing(), &counter()});
    require_cursors_kept(one);
}

TEST_CASE_METHOD(seeded, "rows of every kind come back from a server as they were") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    filled_schema one(servers->dsn(), {&thing()});
    const std::size_t hidden = require_rows_kept(one, random);
    other_session other(servers->dsn());
    CHECK(other.run("SELECT count(*) FROM " + one.table_called("thing.removed")).front() ==
          std::to_string(hidden));

    cursor again = cursor_at(5, 5, false);
    again.epoch = 2;
    one.begin(again);
    CHECK(rows_of(*one.link, thing()).empty());
    CHECK(other.run("SELECT count(*) FROM " + one.table_called("thing.removed")).front() == "0");
}

TEST_CASE("rows that moved to TYPE.removed are deleted when they cannot come back to a server") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    filled_schema one(servers->dsn(), {&counter()});
    other_session other(servers->dsn());
    require_removed_emptied(one, other, one.table_called("counter.removed"));
}

TEST_CASE("values in a server are what the page says") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    const type_schema schema = schema_with("thing", {{"id", "id"},
                                                     {"u64", "u64"},
                                                     {"i128", "i128"},
                                                     {"u128", "u128"},
                                                     {"real", "f64"},
                                                     {"list", "f32[2]"},
                                                     {"memo", "shared_string"},
                                                     {"wides", "u64[2]"},
                                                     {"yes", "bool"}});
    const table of(schema);
    archive::byte_buffer record(4 + 4 + 8 + 16 + 16 + 8 + 8 + 4 + 2 + 16 + 1, std::byte{0xFF});
    archive::detail::store_little(record.data(), of.fingerprint());
    archive::detail::store_little(record.data() + 4, std::uint32_t{9});
    std::fill(record.begin() + 16, record.begin() + 32, std::byte{0});
    record[31] = std::byte{0x80}; // the least of i128
    archive::detail::store_little(record.data() + 48, std::uint64_t{0x8000'0000'0000'0000}); // -0
    archive::detail::store_little(record.data() + 56, std::uint32_t{0x7FC0'0001});
    archive::detail::store_little(record.data() + 60, std::uint32_t{0x3E80'0000});
    archive::detail::store_little(record.data() + 64, std::uint32_t{2});
    record.back() = std::byte{1};
    const bool is_copied = GENERATE(false, true);
    filled_schema one(servers->dsn(), {&of});
    one.begin(cursor_at(0, 0, false));
    if (is_copied) {
        one.link->load({&of, {{0, record.size()}}, record});
    } else {
        batch changes;
        put(changes, of, 9, record);
        one.apply(changes, cursor_at(1, 1));
    }
    other_session other(servers->dsn());
    CHECK(other.run("SELECT u64, i128, u128, real, list, memo, \"memo.bytes\", wides, yes FROM " +
                    one.table_called("thing")) ==
          std::vector<std::string>{"18446744073709551615|-170141183460469231731687303715884105728|"
                                   "340282366920938463463374607431768211455|-0|{NaN,0.25}|"
                                   "\xEF\xBF\xBD\xEF\xBF\xBD|\\xffff|"
                                   "{18446744073709551615,18446744073709551615}|t"});
    CHECK(rows_of(*one.link, of) == model{{9, record}});
}

TEST_CASE_METHOD(seeded, "batches and values larger than a statement has come through") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    const type_schema schema = schema_with("text", {{"id", "id"}, {"body", "shared_string"}});
    const table of(schema);
    filled_schema one(servers->dsn(), {&of, &counter()});
    one.begin(cursor_at(0, 0, false));
    one.apply(counters(0, 45'000, 1), cursor_at(1, 1));
    CHECK(rows_of(*one.link, counter()).size() == 45'000);
    model wanted;
    batch changes;
    for (std::uint32_t id = 0; id < 40; ++id) {
        const std::size_t length = id == 7 ? 20'000'000 : random.below(2'000'000);
        archive::byte_buffer record(12 + length, std::byte('a' + id % 26));
        archive::detail::store_little(record.data(), of.fingerprint());
        archive::detail::store_little(record.data() + 4, id);
        archive::detail::store_little(record.data() + 8, static_cast<std::uint32_t>(length));
        put(changes, of, id, wanted[id] = record);
    }
    one.apply(changes);
    CHECK(rows_of(*one.link, of) == wanted);
    batch gone;
    for (std::uint32_t id = 0; id < 45'000; ++id)
        if (id % 1'000 != 0) change(gone, counter(), id, row_change::kind::erase);
    one.apply(gone);
    CHECK(rows_of(*one.link, counter()).size() == 45);

    load_batch copied{&of, {}, {}};
    for (const auto& [id, record] : wanted) {
        copied.rows.emplace_back(copied.records.size(), copied.records.size() + record.size());
        archive::append(copied.records, record);
    }
    cursor again = cursor_at(5, 5, false);
    again.epoch = 2;
    one.begin(again);
    one.link->load(copied);
    CHECK(rows_of(*one.link, of) == wanted);
    one.link->load(copied); // as after a commit whose answer was lost
    CHECK(rows_of(*one.link, of) == wanted);
}

TEST_CASE("a type that has nothing but its id has rows") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    const table of(schema_with("bare", {{"id", "id"}}));
    filled_schema one(servers->dsn(), {&of}, {"all"});
    one.begin(cursor_at(0, 0, false));
    archive::byte_buffer record(8);
    archive::detail::store_little(record.data(), of.fingerprint());
    archive::detail::store_little(record.data() + 4, std::uint32_t{3});
    batch changes;
    put(changes, of, 3, record);
    one.apply(changes, cursor_at(1, 1));
    one.apply(changes);
    CHECK(rows_of(*one.link, of) == model{{3, record}});
}

// --- fencing -------------------------------------------------------------------------------------

TEST_CASE("who is not where the server's cursor is changes nothing") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    filled_schema one(servers->dsn(), {&counter()});
    CHECK(require_fenced(one).find("CB001") != std::string::npos);
}

TEST_CASE("of sinks that apply at once each step is one's alone") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    filled_schema one(servers->dsn(), {&counter()});
    one.begin(cursor_at(0, 0, false));
    one.apply({}, cursor_at(100, 1));
    constexpr int sinks = 4, steps = 30;
    std::vector<std::atomic<int>> winners(steps);
    std::atomic<int> fenced{0};
    std::atomic<bool> has_failed{false};
    std::vector<std::thread> threads;
    for (int number = 0; number < sinks; ++number)
        threads.emplace_back([&, number] {
            const auto link = one.another();
            for (int step = 0; step < steps; ++step) {
                const auto from = cursor_at(100 + static_cast<std::uint64_t>(step), 1 + step);
                const auto to = cursor_at(101 + static_cast<std::uint64_t>(step), 2 + step);
                while (link->where()->at < from.at)
                    std::this_thread::yield();
                try {
                    const auto id = static_cast<std::uint32_t>(step);
                    link->apply(counters(id, id + 1, static_cast<std::uint32_t>(number)), from, to);
                    winners[static_cast<std::size_t>(step)] += 1 + 10 * number;
                } catch (const fenced_error&) {
                    ++fenced;
                } catch (...) {
                    has_failed = true;
                }
            }
        });
    for (std::thread& each : threads)
        each.join();
    CHECK_FALSE(has_failed);
    CHECK(fenced == (sinks - 1) * steps);
    const model rows = rows_of(*one.link, counter());
    REQUIRE(rows.size() == steps);
    for (std::uint32_t step = 0; step < steps; ++step) {
        REQUIRE(winners[step] % 10 == 1);
        CHECK(rows.at(step) ==
              counter_record(step, static_cast<std::uint32_t>(winners[step] / 10)));
    }
}

TEST_CASE("two bootstraps at once: one of them fails") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    for (int attempt = 0; attempt < 5; ++attempt) {
        filled_schema one(servers->dsn(), {&counter()});
        std::atomic<int> begun{0}, fenced{0};
        const auto begin = [&](std::uint32_t shard) {
            const table* const tables[] = {&counter()};
            cursor to = cursor_at(1, 1, false);
            to.shard = shard;
            try {
                one.another()->begin_bootstrap(std::nullopt, to, tables, "");
                ++begun;
            } catch (const fenced_error&) {
                ++fenced;
            }
        };
        std::thread first(begin, 0), second(begin, 1);
        first.join();
        second.join();
        CHECK(begun == 1);
        CHECK(fenced == 1);
    }
}

TEST_CASE("who reads sees one block, and a bootstrap waits for him") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    filled_schema one(servers->dsn(), {&counter()});
    one.begin(cursor_at(0, 0, false));
    one.apply(counters(0, 10'000, 1), cursor_at(100, 1));
    one.now.since = 1;
    std::thread second;
    std::atomic<bool> has_begun{false};
    std::size_t rows = 0;
    const table* const all[] = {&counter()};
    const cursor was = one.now;
    one.another(true)->read(
        all,
        [&](const cursor& at) {
            CHECK(at == was);
            one.apply(counters(0, 10'000, 2));
            second = std::thread([&] {
                cursor again = cursor_at(5, 5, false);
                again.epoch = 2;
                one.begin(again);
                has_begun = true;
            });
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
        },
        [&](const table&, std::span<const value> row) {
            REQUIRE(row[1].as_int64() == 1);
            CHECK_FALSE(has_begun);
            ++rows;
        });
    second.join();
    CHECK(rows == 10'000);
    CHECK(rows_of(*one.link, counter()).empty());
}

// --- names, and what others did ------------------------------------------------------------------

TEST_CASE("names and values of any kind never become SQL") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    for (const std::string& name :
         {std::string("\"; DROP TABLE counter; --"), std::string("'"), std::string(300, 'n'),
          std::string("\xff\0", 2), std::string("select"), std::string("\\'; $1 {} %s\n"),
          std::string("\xc3\xa4 %s ?1 $a $$")}) {
        type_schema schema = schema_with(name + "t", {{"id", "id"}});
        schema.fields.push_back({name + "f", "shared_string", 4, 8});
        schema.fields.push_back({name + "g", "shared_vector<u128>", 12, 8});
        schema.value_bytes = 20;
        schema.keys = {{name + "k", "ordered_unique", {{name + "f", false}}}};
        const table of(schema);
        filled_schema one(servers->dsn(), {&of, &counter()}, {"all"});
        one.begin(cursor_at(1, 1, false));
        random_source random(1);
        random_records records(schema, random);
        model wanted;
        batch changes;
        for (std::uint32_t id = 0; id < 50; ++id)
            put(changes, of, id, wanted[id] = records.next(id));
        one.apply(changes, cursor_at(2, 2));
        CHECK(rows_of(*one.link, of) == wanted);
        CHECK(rows_of(*one.link, counter()).empty());
    }
}

TEST_CASE("settings of a role or a database change nothing") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    other_session other(servers->dsn());
    other.run("DROP ROLE IF EXISTS odd");
    other.run("CREATE ROLE odd SUPERUSER LOGIN");
    for (const char* setting :
         {"statement_timeout = '1ms'", "standard_conforming_strings = off", "search_path = nowhere",
          "synchronous_commit = off", "bytea_output = escape", "client_encoding = 'LATIN1'",
          "default_transaction_isolation = serializable", "DateStyle = 'German'",
          "extra_float_digits = -10", "quote_all_identifiers = on", "row_security = off"})
        other.run(std::string("ALTER ROLE odd SET ") + setting);
    const table escaped(schema_with("\\'; DROP TABLE counter; --", {{"id", "id"}}));
    filled_schema one(servers->dsn() + " user=odd", {&thing(), &escaped});
    one.begin(cursor_at(1, 1, false));
    random_source random(7);
    random_records records(every_kind(), random);
    model wanted;
    batch changes;
    for (std::uint32_t id = 0; id < 2'000; ++id)
        put(changes, thing(), id, wanted[id] = records.next(id));
    one.apply(changes, cursor_at(2, 2));
    CHECK(rows_of(*one.link, thing()) == wanted);
}

TEST_CASE("a table that somebody changed is an error that says what to do") {
    clusters* const servers = clusters::shared();
    if (!servers) return;
    filled_schema one(servers->dsn(), {&counter()});
    one.begin(cursor_at(1, 1, false));
    one.apply(counters(0, 10, 1), cursor_at(2, 2));
    one.now.since = 2;
    other_session other(servers->dsn());
    const std::string name = one.table_called("counter");
    const cursor was = one.now;
    const auto says = [&](const std::string& message, const std::string& word) {
        CAPTURE(message);
        CHECK(message.find(one.link->name()) == 0);
        CHECK(message.find(word) != std::string::npos);
        CHECK(message.find("--bootstrap again") != std::string::npos);
        CHECK(one.link->where() == was);
    };
    const auto applying = [&] { one.apply(counters(5, 20, 2)); };
    const auto reading = [&] { (void)rows_of(*one.link, counter()); };
    SECTION("without a column") {
        other.run("ALTER TABLE " + name + " DROP COLUMN number");
        says(message_of<usage_error>(applying), "\"counter\"");
        says(message_of<usage_error>(reading), "\"counter\"");
    }
    SECTION("with a column of another type, which holds the values") {
        other.run("ALTER TABLE " + name + " ALTER number TYPE text");
        says(message_of<usage_error>(reading), "column number is not bigint");
    }
    SECTION("with a column of another type, which does not") {
        other.run("ALTER TABLE " + name + " ALTER number TYPE bytea USING ''");
        says(message_of<usage_error>(applying), "\"counter\"");
    }
    SECTION("with a column of another type, which is too small") {
        other.run("ALTER TABLE " + name + " ALTER number TYPE smallint");
        const std::string message =
            message_of<usage_error>([&] { one.apply(counters(5, 20, 100'000)); });
        says(message, "\"counter\"");
    }
    SECTION("with one more that must have a value") {
        other.run("DELETE FROM " + name);
        other.run("ALTER TABLE " + name + " ADD more int NOT NULL");
        says(message_of<usage_error>(applying), "more");
    }
    SECTION("without its primary key") {
        other.run("ALTER TABLE " + name + " DROP CONSTRAINT counter_pkey");
        says(message_of<usage_error>(applying), "ON CONFLICT");
    }
    SECTION("with a key that is unique") {
        other.run("DELETE FROM " + name + " WHERE id > 0");
        other.run("CREATE UNIQUE INDEX ON " + name + " (number)");
        says(message_of<usage_error>(applying), "\"counter\"");
    }
    SECTION("which is gone") {
        other.run("DROP TABLE " + name);
        says(message_of<usage_error>(applying), "\"counter\"");
        says(message_of<usage_error>(reading), "counter");
    }
    SECTION("with a row that is NULL") {
        other.run("ALTER TABLE " + name + " ALTER number DROP NOT NULL");
        other.run("UPDATE " + name + " SET number = NULL WHERE id = 4");
        says(message_of<usage_error>(reading), "row 4, column number");
    }
}
