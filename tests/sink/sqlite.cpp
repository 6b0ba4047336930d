#include <pool_allocator/base/error.hpp>
#include <tools/sink/database.hpp>

#include <catch2/catch.hpp>
#include <tests/sink/filled_database.hpp>
#include <tests/sink/naive_chain.hpp>
#include <tests/sink/other_program.hpp>
#include <tests/sink/random_records.hpp>
#include <tests/support/lowered_limit.hpp>
#include <tests/support/seeded.hpp>
#include <tests/support/temporary_folder.hpp>

#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::sink;
using namespace chainbase::test;

namespace {

link_options options_of(const std::vector<std::string>& history = {}) {
    return {.tables = ddl({dialect::sqlite, "chainbase", history})};
}

/// A file with tables.
class filled final : public filled_database {
public:
    filled(const std::vector<const table*>& tables, const std::vector<std::string>& history = {})
        : filled_database(tables, options_of(history)) {
        link = open_sqlite(file(), options_);
        make();
    }
    [[nodiscard]] std::string file() const { return folder_ / "rows.db"; }
    [[nodiscard]] std::unique_ptr<database_link> another(bool reads_only = false) const override {
        link_options how = options_;
        how.reads_only = reads_only;
        return open_sqlite(file(), how);
    }

private:
    const temporary_folder folder_{memory_or_disk()};
};

} // namespace

TEST_CASE("a file has no cursor before a bootstrap, and keeps what it has") {
    const temporary_folder folder{memory_or_disk()};
    const std::string file = folder / "rows.db";
    const auto link = open_sqlite(file, options_of());
    CHECK(link->name() == "sqlite:" + file);
    CHECK_FALSE(link->where());
    CHECK(link->catalogue().empty());
    filled one({&thing(), &counter()});
    require_cursors_kept(one);
}

TEST_CASE_METHOD(seeded, "rows of every kind come back from a file as they were") {
    filled one({&thing()});
    const std::size_t hidden = require_rows_kept(one, random);
    other_program other(one.file());
    CHECK(other.run("SELECT count(*) FROM \"thing.removed\"").front() == std::to_string(hidden));
    CHECK(other.run("PRAGMA integrity_check").front() == "ok");

    cursor again = cursor_at(5, 5, false);
    again.epoch = 2;
    one.begin(again);
    CHECK(rows_of(*one.link, thing()).empty());
    CHECK(other.run("SELECT count(*) FROM \"thing.removed\"").front() == "0");
}

TEST_CASE("rows that moved to TYPE.removed are deleted when they cannot come back to a file") {
    filled one({&counter()});
    other_program other(one.file());
    require_removed_emptied(one, other, "\"counter.removed\"");
}

TEST_CASE("values are what the page says") {
    const type_schema schema = schema_with("thing", {{"id", "id"},
                                                     {"u64", "u64"},
                                                     {"i128", "i128"},
                                                     {"u128", "u128"},
                                                     {"real", "f64"},
                                                     {"single", "f32"},
                                                     {"list", "f32[2]"},
                                                     {"memo", "shared_string"},
                                                     {"yes", "bool"}});
    const table of(schema);
    filled one({&of});
    one.begin(cursor_at(0, 0, false));
    archive::byte_buffer record(4 + 4 + 8 + 16 + 16 + 8 + 4 + 8 + 4 + 2 + 1, std::byte{0xFF});
    archive::detail::store_little(record.data(), of.fingerprint());
    archive::detail::store_little(record.data() + 4, std::uint32_t{9});
    std::fill(record.begin() + 16, record.begin() + 32, std::byte{0});
    record[31] = std::byte{0x80}; // the least of i128
    archive::detail::store_little(record.data() + 48, std::uint64_t{0x8000'0000'0000'0000}); // -0
    archive::detail::store_little(record.data() + 56, std::uint32_t{0x7F80'0001});
    archive::detail::store_little(record.data() + 60, std::uint32_t{0x7F80'0001});
    archive::detail::store_little(record.data() + 64, std::uint32_t{0x3E80'0000});
    archive::detail::store_little(record.data() + 68, std::uint32_t{2});
    record.back() = std::byte{1};
    batch changes;
    put(changes, of, 9, record);
    one.apply(changes, cursor_at(1, 1));
    other_program other(one.file());
    CHECK(other.run("SELECT u64, i128, u128, typeof(real), 1 / real, hex(single), list, memo, "
                    "hex(\"memo.bytes\"), yes FROM thing") ==
          std::vector<std::string>{"18446744073709551615|-170141183460469231731687303715884105728|"
                                   "340282366920938463463374607431768211455|real|NULL|"
                                   "7FF0000020000000|[\"nan(7f800001)\",0.25]|"
                                   "\xEF\xBF\xBD\xEF\xBF\xBD|FFFF|1"});
    CHECK(rows_of(*one.link, of) == model{{9, record}});
    archive::detail::store_little(record.data() + 8, std::uint64_t{0x8000'0000'0000'0000});
    changes = {};
    put(changes, of, 9, record);
    one.apply(changes);
    CHECK(other.run("SELECT u64 FROM thing").front() == "09223372036854775808");
    CHECK(rows_of(*one.link, of) == model{{9, record}});
    for (const char* other_form : {"9223372036854775808", "00000000000000000005",
                                   "99999999999999999999", "0922337203685477580x"}) {
        other.run("UPDATE thing SET u64 = '" + std::string(other_form) + "'");
        CHECK(message_of<damaged_error>([&] { (void)rows_of(*one.link, of); }).find("column u64") !=
              std::string::npos);
    }
}

TEST_CASE("who is not where the cursor is changes nothing") {
    filled one({&counter()});
    (void)require_fenced(one);
}

TEST_CASE("a transaction that fails midway has done nothing") {
    filled one({&counter()}, {"all"});
    one.begin(cursor_at(10, 1, false));
    batch changes;
    for (std::uint32_t id = 0; id < 100; ++id)
        put(changes, counter(), id, counter_record(id, id));
    one.apply(changes, cursor_at(20, 2));
    const model before = rows_of(*one.link, counter());
    const cursor was = one.now;
    batch more;
    for (std::uint32_t id = 0; id < 20'000; ++id)
        put(more, counter(), id, counter_record(id, id + 1));
    const auto is_as_before = [&] {
        CHECK(one.another()->where() == was);
        CHECK(rows_of(*one.another(), counter()) == before);
        CHECK(one.link->where() == was);
    };
    other_program other(one.file());
    SECTION("at a row") {
        other.run("CREATE TRIGGER no BEFORE INSERT ON counter WHEN NEW.id = 15000 "
                  "BEGIN SELECT RAISE(ABORT, 'no such row, please'); END");
        const std::string message = message_of<usage_error>([&] { one.apply(more); });
        CHECK(message.find("no such row, please") != std::string::npos);
        CHECK(message.find(one.file()) != std::string::npos);
        is_as_before();
        other.run("DROP TRIGGER no");
    }
    SECTION("at the end of the disk") {
        {
            const file_size_limit limit(200'000);
            CHECK_THROWS_AS(one.apply(more), retry_error);
        }
        is_as_before();
    }
    SECTION("as another program writes") {
        other.run("BEGIN IMMEDIATE");
        CHECK_THROWS_AS(one.apply(more), retry_error);
        other.run("ROLLBACK");
        is_as_before();
    }
    SECTION("at a record") {
        put(more, counter(), 20'001, archive::byte_buffer(11));
        CHECK_THROWS_AS(one.apply(more), damaged_error);
        is_as_before();
        more.tables.back().changes.pop_back();
    }
    SECTION("at a statement") {
        const std::vector<std::string> statements = {"DELETE FROM counter", "no SQL"};
        CHECK_THROWS_AS(one.link->run(statements), usage_error);
        is_as_before();
    }
    SECTION("at a row that is read") {
        const table* const all[] = {&counter()};
        struct stop {};
        CHECK_THROWS_AS(one.link->read(all, [](auto&) {}, [](auto&, auto) { throw stop{}; }), stop);
        is_as_before();
    }
    SECTION("at a row that is there already") {
        other.run("UPDATE \"chainbase_sink.cursor\" SET is_ready = 0");
        load_batch rows{&counter(), {{0, 12}, {12, 24}}, counter_record(1'000, 1)};
        archive::append(rows.records, counter_record(99, 1));
        CHECK_THROWS_AS(one.link->load(rows), usage_error);
        other.run("UPDATE \"chainbase_sink.cursor\" SET is_ready = 1");
        is_as_before();
    }
    one.apply(more); // and goes on then
    CHECK(rows_of(*one.link, counter()).size() == 20'000);
}

TEST_CASE("a file that cannot be used is refused with what to do") {
    const temporary_folder folder{memory_or_disk()};
    CHECK_THROWS_AS(open_sqlite("", options_of()), usage_error);
    CHECK_THROWS_AS(open_sqlite(":memory:", options_of()), usage_error);
    CHECK_THROWS_AS(open_sqlite(folder / "none/rows.db", options_of())->where(), access_error);
    link_options reads = options_of();
    reads.reads_only = true;
    CHECK_THROWS_AS(open_sqlite(folder / "rows.db", reads)->where(), access_error);
    CHECK_FALSE(std::filesystem::exists(folder / "rows.db"));
    write_all(folder / "text", std::string(5'000, 'x'));
    const std::string message = message_of<damaged_error>(
        [&] { (void)open_sqlite(folder / "text", options_of())->where(); });
    CHECK(message.find(folder / "text") != std::string::npos);
    CHECK(message.find("move it away") != std::string::npos);

    filled one({&counter()});
    one.begin(cursor_at(1, 1, false));
    CHECK_THROWS_AS(one.another(true)->run(std::vector<std::string>{"DELETE FROM counter"}),
                    access_error);
    other_program other(one.file());
    other.run("UPDATE \"chainbase_sink.types\" SET format = 2");
    CHECK_THROWS_AS(one.another()->where(), usage_error);
    CHECK_THROWS_AS(one.another()->catalogue(), usage_error);
}

TEST_CASE("pages of a file that are damaged are found") {
    filled one({&counter()});
    one.begin(cursor_at(1, 1, false));
    batch changes;
    for (std::uint32_t id = 0; id < 20'000; ++id)
        put(changes, counter(), id, counter_record(id, id));
    one.apply(changes, cursor_at(2, 2));
    one.link.reset(); // what the log has goes to the file
    std::string content = read_all(one.file());
    REQUIRE(content.size() > 100'000);
    std::fill(content.begin() + 50'000, content.end(), '\x5A');
    write_all(one.file(), content);
    const auto link = one.another();
    CHECK_THROWS_AS(rows_of(*link, counter()), damaged_error);
}

TEST_CASE("types whose names differ in case are refused") {
    const table upper(schema_with("COUNTER", {{"id", "id"}}));
    filled one({&counter(), &upper});
    const std::string message = message_of<usage_error>([&] { one.begin(cursor_at(1, 1, false)); });
    CHECK(message.find("COUNTER") != std::string::npos);
    CHECK_FALSE(one.link->where());
}

TEST_CASE("tables of any name have rows") {
    for (const std::string& name :
         {std::string("\"; DROP TABLE counter; --"), std::string("'"), std::string(300, 'n'),
          std::string("\xff\0", 2), std::string("select"), std::string("\xc3\xa4 %s ?1 $a")}) {
        type_schema schema = schema_with(name + "t", {{"id", "id"}});
        schema.fields.push_back({name + "f", "shared_string", 4, 8});
        schema.value_bytes = 12;
        schema.keys = {{name + "k", "ordered_unique", {{name + "f", false}}}};
        const table of(schema);
        filled one({&of, &counter()}, {"all"});
        one.begin(cursor_at(1, 1, false));
        random_source random(1);
        const model wanted{{5, random_records(schema, random).next(5)}};
        batch changes;
        put(changes, of, 5, wanted.at(5));
        one.apply(changes, cursor_at(2, 2));
        CHECK(rows_of(*one.link, of) == wanted);
        CHECK(rows_of(*one.link, counter()).empty());
    }
}

// --- history -------------------------------------------------------------------------------------

TEST_CASE_METHOD(seeded, "a history has the rows of each block since the bootstrap") {
    filled one({&counter()}, {"counter"});
    other_program other(one.file());
    (void)require_histories_kept(one, other, "\"counter.history\"", random);
}

TEST_CASE("a pop of the block that a history began with leaves the rows of the one before") {
    filled one({&counter()}, {"counter"});
    other_program other(one.file());
    require_history_begun_earlier(one, other, "\"counter.history\"");
}
