#include <pool_allocator/base/error.hpp>
#include <tools/sink/table/ddl.hpp>
#include <tools/sink/table/table.hpp>
#include <tools/sink/table/text.hpp>

#include <catch2/catch.hpp>
#include <tests/sink/random_records.hpp>
#include <tests/support/seeded.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <set>
#include <string>

using namespace chainbase;
using namespace chainbase::sink;
using namespace chainbase::test;
using namespace std::string_literals;

namespace {

std::string bytes_in(archive::bytes_view all) {
    return std::string(archive::as_text(all));
}

const column& column_of(const table& of, const std::string& name) {
    return of.columns()[of.column_called(name)];
}

bool throws_saying(const std::function<void()>& work, const std::string& part) {
    try {
        work();
    } catch (const error& problem) {
        UNSCOPED_INFO(problem.what());
        return std::string(problem.what()).find(part) != std::string::npos;
    }
    return false;
}

/// The text of a statement without what stands in quotation marks, which must be closed.
std::string outside_quotes(const std::string& sql) {
    std::string left;
    for (std::size_t at = 0; at < sql.size(); ++at) {
        const char mark = sql[at];
        if (mark != '"' && mark != '\'') {
            left += mark;
            continue;
        }
        for (++at;; ++at) {
            REQUIRE(at < sql.size());
            if (sql[at] != mark) continue;
            if (at + 1 < sql.size() && sql[at + 1] == mark)
                ++at;
            else
                break;
        }
    }
    return left;
}

const std::vector<std::string> hostile_names = {
    "",
    "\"",
    "'",
    "\"; DROP TABLE thing; --",
    "a\"\"b''c\\",
    "select",
    "xmin",
    "with space",
    "\xc3\xa4\xf0\x9f\x98\x80",
    std::string("zero\0byte", 9),
    "no \xff utf8",
    std::string(63, 'x'),
    std::string(64, 'x'),
    std::string(64, 'y'),
    std::string(500, 'x'),
    std::string(53, 'x') + "\xf0\x9f\x98\x80" + std::string(20, 'z'),
    "$advance$",
    "a.b.c",
    "?",
    "%s{}",
};

} // namespace

TEST_CASE("each kind of a field has a column of its kind") {
    const table of(every_kind());
    const std::pair<const char*, column_kind> wanted[] = {{"id", column_kind::big},
                                                          {"yes", column_kind::boolean},
                                                          {"i8", column_kind::small},
                                                          {"u8", column_kind::small},
                                                          {"i16", column_kind::small},
                                                          {"u16", column_kind::integer},
                                                          {"i32", column_kind::integer},
                                                          {"u32", column_kind::big},
                                                          {"i64", column_kind::big},
                                                          {"u64", column_kind::numeric},
                                                          {"i128", column_kind::numeric},
                                                          {"u128", column_kind::numeric},
                                                          {"single", column_kind::real32},
                                                          {"real", column_kind::real64},
                                                          {"name", column_kind::text},
                                                          {"name.bytes", column_kind::bytes},
                                                          {"title", column_kind::text},
                                                          {"raw", column_kind::bytes},
                                                          {"digest", column_kind::bytes},
                                                          {"hidden", column_kind::bytes},
                                                          {"flags", column_kind::list},
                                                          {"numbers", column_kind::list},
                                                          {"nothing", column_kind::bytes},
                                                          {"at.x", column_kind::integer},
                                                          {"at.y", column_kind::small},
                                                          {"nested.name", column_kind::text},
                                                          {"nested.name.bytes", column_kind::bytes},
                                                          {"nested.deep.a", column_kind::numeric},
                                                          {"nested.deep.words", column_kind::json},
                                                          {"words", column_kind::json},
                                                          {"tags", column_kind::json},
                                                          {"lists", column_kind::json},
                                                          {"grid", column_kind::json},
                                                          {"places", column_kind::json},
                                                          {"opaques", column_kind::json},
                                                          {"other", column_kind::big}};
    for (const auto& [name, kind] : wanted) {
        CAPTURE(name);
        CHECK(column_of(of, name).kind == kind);
        CHECK(column_of(of, name).is_nullable == std::string(name).ends_with(".bytes"));
    }
    CHECK(of.columns().front().name == "id");
    CHECK(column_of(of, "unsigned_numbers").of == column_kind::numeric);
    CHECK(column_of(of, "bytes").of == column_kind::small);
    CHECK(column_of(of, "flags").of == column_kind::boolean);
    CHECK(column_of(of, "singles").of == column_kind::real32);
    CHECK(column_of(of, "of_others").of == column_kind::big);
    CHECK(column_of(of, "u128").is_wide);
    CHECK_FALSE(column_of(of, "u64").is_wide);
    CHECK(column_of(of, "title").is_long);
    CHECK_FALSE(column_of(of, "name").is_long);
    CHECK(column_of(of, "mixed").description ==
          "shared_vector<{a i128, b f32, t shared_string, raw u8[3], c f64}>");
    CHECK(throws_saying([&] { (void)of.column_called("nam"); }, "name"));
}

TEST_CASE("keys have the parts that are columns to order by") {
    const table of(every_kind());
    std::string all;
    for (const table_key& key : of.keys()) {
        all += key.name + "(";
        for (const table_key::part& part : key.parts)
            all += of.columns()[part.column].name + (part.is_descending ? "- " : " ");
        all += ")";
    }
    CHECK(all == "thing.by_name(name )thing.by_title(title- id )thing.by_two_texts(title long_name "
                 ")thing.by_numbers(i8 u128- real )thing.by_raw(raw digest )thing.by_some(u32- )"
                 "thing.by_id(id )");
    const std::vector<std::string> indexes = ddl({}).index(of);
    CHECK(indexes.size() == of.keys().size() - 1); // not of the id alone
    CHECK(indexes[1] == "CREATE INDEX IF NOT EXISTS \"thing.by_title\" ON \"chainbase\".\"thing\" "
                        "(left(\"title\", 500) DESC, \"id\")");
    CHECK(indexes[2].ends_with("(left(\"title\", 250), left(\"long_name\", 250))"));
    CHECK(indexes[4].ends_with("(substring(\"raw\" from 1 for 500), \"digest\")"));
}

TEST_CASE_METHOD(seeded, "a record comes back from its values") {
    const type_schema schema = every_kind();
    const table of(schema);
    random_records records(schema, random);
    row_values values(of);
    row_values as_json(of, list_form::json);
    row_record back(of);
    const std::uint64_t count = short_test_operations(2'000);
    for (std::uint32_t id = 0; id < count; ++id) {
        const archive::byte_buffer record = records.next(id);
        const std::vector<value>& row = values.read(record);
        REQUIRE(row.size() == of.columns().size());
        REQUIRE(row.front().as_int64() == id);
        REQUIRE(bytes_in(back.make(row)) == bytes_in(record));
        REQUIRE(bytes_in(back.make(as_json.read(record))) == bytes_in(record));
    }
}

TEST_CASE_METHOD(seeded, "members whose names are no UTF-8 are in JSON with what stands for them") {
    const type_schema schema =
        schema_with("thing", {{"id", "id"}, {"all", "shared_vector<{\xff\xc3 u8, \" u8}>"}});
    const table of(schema);
    row_values values(of);
    row_record back(of);
    random_records records(schema, random);
    std::size_t with_names = 0;
    for (std::uint32_t id = 0; id < 20; ++id) {
        const archive::byte_buffer record = records.next(id);
        const std::vector<value>& row = values.read(record);
        CHECK(is_sql_text(row[1].text));
        with_names += row[1].text.starts_with("[{\"\xEF\xBF\xBD\xEF\xBF\xBD\":") ? 1 : 0;
        CHECK(bytes_in(back.make(row)) == bytes_in(record));
    }
    CHECK(with_names > 0);
}

TEST_CASE_METHOD(seeded, "a record that is cut, or is longer, is none") {
    const type_schema schema = every_kind();
    const table of(schema);
    random_records records(schema, random);
    row_values values(of);
    const archive::byte_buffer record = records.next(7);
    for (std::size_t bytes = 0; bytes < record.size(); ++bytes) {
        // A buffer of its own: a sanitizer sees what is read behind its end.
        const archive::byte_buffer cut(record.begin(),
                                       record.begin() + static_cast<std::ptrdiff_t>(bytes));
        CHECK_THROWS_AS(values.read(cut), damaged_error);
    }
    archive::byte_buffer longer = record;
    longer.push_back(std::byte{0});
    CHECK_THROWS_AS(values.read(longer), damaged_error);
    CHECK_NOTHROW(values.read(record));
}

TEST_CASE_METHOD(seeded, "a record with bytes of others is refused, or comes back") {
    const type_schema schema = every_kind();
    const table of(schema);
    random_records records(schema, random);
    row_values values(of);
    row_record back(of);
    for (std::uint32_t id = 0; id < short_test_operations(3'000); ++id) {
        archive::byte_buffer record = records.next(id);
        for (std::uint32_t changes = 1 + random.below(3); changes != 0; --changes)
            record[4 + random.below(static_cast<std::uint32_t>(record.size()) - 4)] =
                std::byte(static_cast<std::uint8_t>(random.next()));
        try {
            const std::vector<value>& row = values.read(record);
            REQUIRE(bytes_in(back.make(row)) == bytes_in(record));
        } catch (const damaged_error&) {
        }
    }
}

TEST_CASE("what is no value is refused, with table and column") {
    const type_schema schema = schema_with("thing", {{"id", "id"},
                                                     {"yes", "bool"},
                                                     {"small", "i8"},
                                                     {"big", "u64"},
                                                     {"single", "f32"},
                                                     {"name", "fixed_string<4>"},
                                                     {"digest", "u8[2]"},
                                                     {"pair", "i16[2]"},
                                                     {"words", "shared_vector<shared_string>"}});
    const table of(schema);
    const auto integer = [](std::int64_t number) {
        value made;
        made.what = value::kind::integer;
        made.is_negative = number < 0;
        made.magnitude = static_cast<unsigned __int128>(number < 0 ? -number : number);
        return made;
    };
    const auto text = [](std::string_view of_it) {
        value made;
        made.what = value::kind::text;
        made.text = of_it;
        return made;
    };
    const auto bytes = [](std::string_view of_it) {
        value made;
        made.what = value::kind::bytes;
        made.bytes = archive::as_bytes(of_it);
        return made;
    };
    std::vector<value> good(of.columns().size());
    good[0] = integer(3);
    good[1].what = value::kind::boolean;
    good[2] = integer(-128);
    good[3] = integer(INT64_MAX);
    good[4].what = value::kind::real;
    good[4].real = 0.5;
    good[5] = text("abcd");
    good[7] = bytes("xy");
    good[8] = text("[-32768,32767]");
    good[9] = text(R"(["a",{"hex":"ff"}])");
    row_record back(of);
    CHECK_NOTHROW(back.make(good));
    value two;
    two.what = value::kind::boolean;
    two.magnitude = 2;
    value tenth;
    tenth.what = value::kind::real;
    tenth.real = 0.1;
    value list;
    list.what = value::kind::list;
    list.elements = {integer(1)};
    list.count = 1;
    const std::pair<std::size_t, value> bad[] = {{0, integer(-1)},
                                                 {0, integer(std::int64_t{1} << 32)},
                                                 {0, value()},
                                                 {1, two},
                                                 {1, integer(1)},
                                                 {2, integer(128)},
                                                 {2, integer(-129)},
                                                 {3, integer(-1)},
                                                 {4, tenth},
                                                 {4, integer(1)},
                                                 {5, text("abcde")},
                                                 {5, text(std::string_view("a\0", 2))},
                                                 {5, text("\xff")},
                                                 {5, value()},
                                                 {6, bytes("abcd")},
                                                 {6, bytes("\xff")},
                                                 {6, text("a")},
                                                 {7, bytes("x")},
                                                 {7, bytes("xyz")},
                                                 {7, text("xy")},
                                                 {8, list},
                                                 {8, text("[1]")},
                                                 {8, text("[1,32768]")},
                                                 {8, text("[1,2")},
                                                 {8, integer(1)},
                                                 {9, text("[1]")},
                                                 {9, text(R"([{"hex":"f"}])")},
                                                 {9, bytes("[]")}};
    for (const auto& [number, one] : bad) {
        std::vector<value> row = good;
        row[number] = one;
        CAPTURE(number, one.text, one.digits());
        const std::string& name = of.columns()[number == 6 || number == 5 ? 5 : number].name;
        CHECK(throws_saying([&] { (void)back.make(row); }, "column " + name));
        CHECK_THROWS_AS(back.make(row), damaged_error);
    }
    good.pop_back();
    CHECK_THROWS_AS(back.make(good), damaged_error);
}

TEST_CASE("a text that is none has replacements, and its bytes beside it") {
    const table of(schema_with("thing", {{"id", "id"}, {"memo", "shared_string"}}));
    row_values values(of);
    for (int byte = 0; byte < 256; ++byte) {
        archive::byte_buffer record(12);
        record[8] = std::byte{2};
        record.push_back(std::byte{'a'});
        record.push_back(static_cast<std::byte>(byte));
        const std::vector<value>& row = values.read(record);
        const bool is_text = byte > 0 && byte < 128;
        CAPTURE(byte);
        CHECK((row[2].what == value::kind::null) == is_text);
        CHECK(row[1].text == (is_text ? "a"s + static_cast<char>(byte) : "a\xEF\xBF\xBD"s));
        if (!is_text) CHECK(row[2].bytes.size() == 2);
    }
}

TEST_CASE("names in SQL are of 63 bytes at most, and stay what they are") {
    std::set<std::string> all;
    for (const std::string& name : hostile_names) {
        const std::string made = sql_name(name);
        CAPTURE(name, made);
        CHECK(made.size() <= 63);
        CHECK_FALSE(made.empty());
        CHECK(all.insert(made).second);
        CHECK(sql_name(made) == made);
    }
    // Those of tables that were made in earlier versions.
    CHECK(sql_name("plain") == "plain");
    CHECK(sql_name(std::string(63, 'x')) == std::string(63, 'x'));
    CHECK(sql_name(std::string(64, 'x')) == std::string(54, 'x') + "~acf81244");
    CHECK(sql_name(hostile_names[15]) == std::string(53, 'x') + "~4b153b7b");
    CHECK(sql_name("xmin") == "xmin~0b3d5a9e");
    CHECK(quoted("a\"b") == "\"a\"\"b\"");
    CHECK(literal("it's") == "'it''s'");
    CHECK(literal("\xff") == "'\xEF\xBF\xBD'");
}

TEST_CASE("no name becomes SQL") {
    for (const dialect in : {dialect::postgres, dialect::sqlite, dialect::citus}) {
        for (const std::string& name : hostile_names) {
            type_schema schema = schema_with(name + "t", {{"id", "id"}});
            schema.fields.push_back({name + "f", "shared_string", 4, 8});
            schema.value_bytes = 12;
            schema.keys = {{name + "k", "ordered_unique", {{name + "f", false}}}};
            const table of(schema);
            const ddl made({in, name, {"all"}});
            std::vector<std::string> all = made.begin();
            std::ranges::move(made.create(of, 1, true), std::back_inserter(all));
            std::ranges::move(made.index(of), std::back_inserter(all));
            for (const std::string& one : all) {
                const std::string left = outside_quotes(one);
                CAPTURE(one);
                CHECK(left.find_first_of(";\\\"'~\xff\xc3$%?") == std::string::npos);
                CHECK(left.find("DROP") == std::string::npos);
            }
        }
    }
}

TEST_CASE("tables that cannot be are refused") {
    using list = std::initializer_list<std::pair<std::string, std::string>>;
    CHECK_THROWS_AS(table(schema_with("none", list{})), damaged_error);
    CHECK_THROWS_AS(table(schema_with("none", {{"name", "shared_string"}})), damaged_error);
    CHECK_THROWS_AS(table(schema_with("none", {{"id", "u64"}})), damaged_error);
    CHECK(throws_saying(
        [] { table(schema_with("twice", {{"id", "id"}, {"a", "{b u8}"}, {"a.b", "u8"}})); },
        "a.b"));
    type_schema outside = schema_with("outside", {{"id", "id"}, {"a", "u8"}});
    outside.fields.back().offset = 9;
    CHECK_THROWS_AS(table(outside), damaged_error);
    const table own(schema_with("own", {{"id", "id"}, {"until_serial", "u8"}}));
    CHECK_THROWS_AS(ddl({dialect::postgres, "chainbase", {"all"}}).create(own, 0, false),
                    usage_error);
    CHECK_NOTHROW(ddl({}).create(own, 0, false));
}

TEST_CASE("bookkeeping has no tables") {
    for (const char* name :
         {"thing.removed", "thing.retired", "thing.filter", "thing.withdrawn", "archive.row",
          "archive.table", "archive.key", "state_root.recorded", "state_root.nodes2"})
        CHECK_FALSE(has_table(name));
    for (const char* name : {"thing", "applied_block", "chain_identity", "archive.rows", "removed"})
        CHECK(has_table(name));
}
