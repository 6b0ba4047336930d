// Records of an older layout become objects of a newer one: against a model that changes the JSON
// of an object.

#include <archive/record/described_record.hpp>
#include <chainbase/offline/rows/described_buffers.hpp>
#include <chainbase/offline/snapshot_file/object_of_record.hpp>
#include <pool_allocator/base/error.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/inspect/rows/row_reader.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/sink/random_records.hpp>
#include <tests/snapshot_file/random_migration.hpp>
#include <tests/support/seeded.hpp>

#include <cstring>
#include <functional>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using archive::byte_buffer;
using archive::bytes_view;
using nlohmann::json;
using rows::value_type;
using snapshot_file::field_change;
using snapshot_file::migration_rules;
using snapshot_file::object_of_record;
using change = field_change::kind;
using Catch::Matchers::Contains;

namespace {

/// The object without the handles in it.
byte_buffer without_handles(const type_schema& type, bytes_view object) {
    byte_buffer copy(object.begin(), object.end());
    const rows::described_buffers buffers(type);
    buffers.of_object().each_handle(copy.size(), [&](std::size_t at, const buffer_layout&) {
        std::memset(copy.data() + at, 0, sizeof(buffer_handle));
    });
    return copy;
}

/// Whether the record becomes what the model says; false when both refuse it.
bool migrates(const type_schema& from, const random_migration& model, object_of_record& reader,
              bytes_view record) {
    inspect::row_reader wanted(model.to);
    const std::byte* const object = object_of(record, from, model, wanted);
    if (!object) {
        REQUIRE_THROWS_AS(reader.read(record), limit_error);
        return false;
    }
    const auto made = reader.read(record);
    REQUIRE(printed(model.to, made, reader) ==
            printed(model.to, {object, model.to.value_bytes}, wanted));
    REQUIRE(archive::same(without_handles(model.to, made),
                          without_handles(model.to, {object, model.to.value_bytes})));
    return true;
}

std::string refusal_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const error& problem) {
        return problem.what();
    }
    return "done";
}

std::string refusal_of(const type_schema& from, const type_schema& to, migration_rules rules = {}) {
    return refusal_of([&] { object_of_record(from, to, rules); });
}

bool contains(const std::string& all, const std::string& part) {
    UNSCOPED_INFO(all);
    return all.find(part) != all.npos;
}

/// The record of an object with these values.
byte_buffer record_of(const type_schema& type, const json& object) {
    inspect::row_reader reader(type);
    const std::byte* const made = reader.read(inspect::exact_json(object.dump()));
    byte_buffer record;
    archive::described_record(type).append(made, reader, record);
    return record;
}

/// What an object becomes, as JSON, or why not.
std::string migrated(const std::string& from, const std::string& to, const json& value) {
    const type_schema old = laid_out("thing", {{"id", "id"}, {"x", from}});
    const type_schema made = laid_out("thing", {{"id", "id"}, {"x", to}});
    object_of_record reader(old, made);
    const byte_buffer record = record_of(old, {{"id", 5}, {"x", value}});
    return refusal_of([&] { static_cast<void>(reader.read(record)); }) == "done"
               ? inspect::exact_json(printed(made, reader.read(record), reader))["x"].dump()
               : refusal_of([&] { static_cast<void>(reader.read(record)); });
}

} // namespace

TEST_CASE_METHOD(seeded, "records of random types become objects of newer ones as the model says") {
    std::uint64_t made = 0;
    std::uint64_t refused = 0;
    for (std::uint64_t left = short_test_operations(400); left != 0; --left) {
        const type_schema from = random_layout(random, left % 8 == 0 ? 10 : 3);
        const random_migration model(random, from);
        object_of_record reader(from, model.to, model.rules);
        random_records records(from, random);
        for (std::uint32_t id = 0; id < 10; ++id)
            ++(migrates(from, model, reader, records.next(id)) ? made : refused);
    }
    CHECK(made > 100);
    CHECK(refused > 100);
}

TEST_CASE_METHOD(seeded, "a migration reads no record that its own layout does not") {
    for (std::uint64_t left = short_test_operations(60); left != 0; --left) {
        const type_schema from = random_layout(random, 6);
        const random_migration model(random, from);
        object_of_record reader(from, model.to, model.rules);
        object_of_record plain(from);
        const auto outcome = [](object_of_record& of, const byte_buffer& record) {
            try {
                static_cast<void>(of.read(record));
            } catch (const damaged_error&) {
                return 'd';
            } catch (const limit_error&) {
                return 'l';
            }
            return 'r';
        };
        const auto check = [&](const byte_buffer& record) {
            const char wanted = outcome(plain, record);
            const char found = outcome(reader, record);
            REQUIRE((found == 'l' || found == wanted));
        };
        byte_buffer record = random_records(from, random).next(7);
        for (std::size_t end = 0; end < record.size(); ++end)
            check({record.begin(), record.begin() + static_cast<std::ptrdiff_t>(end)});
        for (std::size_t bit = 0; bit < 8 * std::min<std::size_t>(record.size(), 1'000); ++bit) {
            record[bit / 8] ^= std::byte{1} << bit % 8;
            check(record);
            record[bit / 8] ^= std::byte{1} << bit % 8;
        }
    }
}

TEST_CASE("what happens to each field is listed before anything is read") {
    const type_schema from = laid_out("thing", {{"id", "id"},
                                                {"same", "u64"},
                                                {"old", "u16"},
                                                {"wider", "i16"},
                                                {"smaller", "u64"},
                                                {"gone", "shared_string"},
                                                {"text", "fixed_string<16>"},
                                                {"owner", "id"},
                                                {"paid", "{value i64, unit u8}"},
                                                {"votes", "shared_vector<{by u32, gone u8}>"},
                                                {"other", "f32"}});
    const type_schema to = laid_out("thing", {{"id", "id"},
                                              {"other", "shared_string"},
                                              {"votes", "shared_vector<{weight u64, by u64}>"},
                                              {"paid", "{unit u8, amount i64}"},
                                              {"owner", "u32"},
                                              {"text", "shared_string"},
                                              {"now", "u32"},
                                              {"smaller", "u8"},
                                              {"wider", "i64"},
                                              {"same", "u64"},
                                              {"fresh", "bool"}});
    const migration_rules rules{
        {{"now", "old"}, {"paid.amount", "paid.value"}}, {"gone", "votes.gone", "other"}, {}};
    const std::vector<field_change> wanted{
        {change::same, "id", "id", "id"},
        {change::added, "other", "", "shared_string"},
        {change::widened, "votes", "shared_vector<{by u32, gone u8}>",
         "shared_vector<{weight u64, by u64}>"},
        {change::added, "votes.weight", "", "u64"},
        {change::widened, "votes.by", "u32", "u64"},
        {change::widened, "paid", "{value i64, unit u8}", "{unit u8, amount i64}"},
        {change::renamed, "paid.amount", "value i64", "i64"},
        {change::widened, "owner", "id", "u32"},
        {change::widened, "text", "fixed_string<16>", "shared_string"},
        {change::renamed, "now", "old u16", "u32"},
        {change::narrowed, "smaller", "u64", "u8"},
        {change::widened, "wider", "i16", "i64"},
        {change::same, "same", "u64", "u64"},
        {change::added, "fresh", "", "bool"},
        {change::dropped, "votes.gone", "u8", ""},
        {change::dropped, "gone", "shared_string", ""},
        {change::dropped, "other", "f32", ""}};
    CHECK(object_of_record::changes(from, to, rules) == wanted);

    object_of_record reader(from, to, rules);
    const json votes{{{"by", 3}, {"gone", 1}}, {{"by", 4}, {"gone", 0}}};
    const byte_buffer record = record_of(from, {{"id", 9},
                                                {"same", 1},
                                                {"old", 2},
                                                {"wider", -3},
                                                {"smaller", 4},
                                                {"gone", "away"},
                                                {"text", "abc"},
                                                {"owner", 5},
                                                {"paid", {{"value", -6}, {"unit", 7}}},
                                                {"votes", votes},
                                                {"other", 8}});
    CHECK(printed(to, reader.read(record), reader) ==
          R"({"id":9,"other":"","votes":[{"weight":0,"by":3},{"weight":0,"by":4}],)"
          R"("paid":{"unit":7,"amount":-6},"owner":5,"text":"abc","now":2,"smaller":4,"wider":-3,)"
          R"("same":1,"fresh":false})");
}

TEST_CASE("what can fail is told from what cannot, and from what is impossible") {
    const struct {
        const char* from;
        const char* to;
        change what;
    } all[] = {{"u64", "i64", change::narrowed},
               {"u64", "i128", change::widened},
               {"i8", "u64", change::narrowed},
               {"i8", "i16", change::widened},
               {"u8", "u16", change::widened},
               {"u16", "u8", change::narrowed},
               {"u32", "id", change::widened},
               {"bool", "i8", change::widened},
               {"u8", "bool", change::narrowed},
               {"f32", "f64", change::widened},
               {"f64", "f32", change::narrowed},
               {"u64", "f64", change::impossible},
               {"fixed_string<8>", "fixed_string<16>", change::widened},
               {"fixed_string<16>", "fixed_string<8>", change::narrowed},
               {"fixed_string<8>", "shared_string", change::widened},
               {"shared_string", "fixed_string<8>", change::narrowed},
               {"shared_vector<u8>", "shared_string", change::impossible},
               {"u8[2]", "u8[3]", change::widened},
               {"u8[3]", "u8[2]", change::narrowed},
               {"u8[2]", "u16[2]", change::widened},
               {"u8[2]", "i8[3]", change::narrowed},
               {"u8[2]", "shared_vector<u8>", change::widened},
               {"shared_vector<u8>", "u8[2]", change::impossible},
               {"shared_vector<u8>", "shared_vector<i8>", change::narrowed},
               {"{a u8}", "{a u16}", change::widened},
               {"{a u8}", "{a bool}", change::narrowed},
               {"{a u8, b u8}", "{b u8, a u8}", change::same},
               {"{a u8}", "u8", change::impossible},
               {"bytes<3>", "u8[3]", change::impossible}};
    for (const auto& [from, to, what] : all) {
        INFO(from << " to " << to);
        CHECK(object_of_record::changes(with_only(from), with_only(to))[1].what == what);
        const std::string refused = refusal_of(with_only(from), with_only(to));
        CHECK((refused == "done") == (what != change::impossible));
    }
}

TEST_CASE("what would be lost, cannot be converted, or is no field is refused by name") {
    const type_schema from = laid_out("thing", {{"id", "id"},
                                                {"a", "u64"},
                                                {"at", "{x u8, y u16}"},
                                                {"raw", "bytes<12>"},
                                                {"v", "shared_vector<u64>"}});
    const auto with = [&](const named_types& fields) {
        named_types all{{"id", "id"}};
        all.insert(all.end(), fields.begin(), fields.end());
        return laid_out("thing", all);
    };
    const type_schema same = from;
    CHECK(refusal_of(from, same) == "done");
    const type_schema less = with({{"at", "{x u8}"}, {"raw", "bytes<12>"}});
    CHECK(
        contains(refusal_of(from, less), "type thing cannot be converted: at.y of type u16 would"));
    CHECK(contains(refusal_of(from, less), "; a of type u64 would be lost"));
    CHECK(contains(refusal_of(from, less), "; v of type shared_vector<u64> would be lost"));
    CHECK(
        contains(refusal_of(from, less, {{}, {"a", "v", "at"}, {}}), "at.y of type u16 would be"));
    CHECK(refusal_of(from, less, {{}, {"a", "v", "at.y"}, {}}) == "done");

    const type_schema odd = with({{"a", "shared_string"},
                                  {"at", "{x shared_string, y u16}"},
                                  {"raw", "bytes<13>"},
                                  {"v", "u64[4]"}});
    const std::string problems = refusal_of(from, odd);
    for (const char* part :
         {"a cannot become shared_string from u64", "at.x cannot become shared_string from u8",
          "raw cannot become bytes<13> from bytes<12>",
          "v cannot become u64[4] from shared_vector"})
        CHECK(contains(problems, part));
    CHECK_FALSE(contains(problems, "at cannot become"));
    CHECK(refusal_of(from, odd, {{}, {"a", "at.x", "raw", "v"}, {}}) == "done");

    CHECK(contains(refusal_of(from, same, {{{"b", "a"}}, {}, {}}), "b cannot be what a was"));
    CHECK(contains(refusal_of(from, same, {{{"a", "b"}}, {}, {}}), "a cannot be what b was"));
    CHECK(
        contains(refusal_of(from, same, {{{"at.x", "a"}}, {"at.x"}, {}}), "at.x cannot be what a"));
    CHECK(
        contains(refusal_of(from, same, {{}, {"at.z"}, {}}), "at.z, which may be dropped, is no"));
    const type_schema twice = with({{"b", "u64"},
                                    {"c", "u64"},
                                    {"at", "{x u8, y u16}"},
                                    {"raw", "bytes<12>"},
                                    {"v", "shared_vector<u64>"}});
    CHECK(contains(refusal_of(from, twice, {{{"b", "a"}, {"c", "a"}}, {}, {}}),
                   "c cannot be what a was"));
    const type_schema other_id = laid_out("thing", {{"number", "id"}, {"id", "id"}});
    CHECK(contains(refusal_of(laid_out("thing", {{"id", "id"}}), other_id), "the id cannot be"));
    CHECK(refusal_of(laid_out("thing", {{"id", "id"}}), other_id, {{{"number", "id"}}, {}, {}}) ==
          "done");
}

TEST_CASE("rules for a layout of another age are left out if that is said, and no field is lost") {
    const named_types newest{{"id", "id"}, {"balance", "u64"}, {"at", "{x u32, y u32}"}};
    const type_schema to = laid_out("thing", newest);
    migration_rules rules;
    rules.renamed = {{"balance", "amount"}, {"at", "place"}, {"at.y", "place.z"}};
    rules.dropped = {"legacy"};
    const auto refusal = [&](const named_types& from) -> std::string {
        try {
            object_of_record(laid_out("thing", from), to, rules);
            return {};
        } catch (const usage_error& problem) {
            return problem.what();
        }
    };
    const named_types oldest{
        {"id", "id"}, {"amount", "u32"}, {"place", "{x u32, z u32}"}, {"legacy", "u8"}};
    CHECK(refusal(oldest).empty());
    CHECK_THAT(refusal(newest), Contains("amount"));
    CHECK_THAT(refusal({{"id", "id"}, {"amount", "u32"}, {"place", "{x u32, z u32}"}}),
               Contains("legacy"));
    rules.may_not_apply = true;
    CHECK(refusal(oldest).empty());
    CHECK(refusal(newest).empty());
    CHECK(refusal({{"id", "id"}}).empty());
    CHECK(refusal({{"id", "id"}, {"balance", "u32"}, {"place", "{x u32, y u32}"}}).empty());
    CHECK_THAT(refusal({{"id", "id"}, {"balance", "u32"}, {"amount", "u32"}}),
               Contains("amount of type u32 would be lost"));
    CHECK_THAT(refusal({{"id", "id"}, {"amonut", "u32"}}), Contains("amonut"));
    rules.renamed["nothing"] = "amount";
    CHECK_THAT(refusal(newest), Contains("nothing cannot be"));
    rules.renamed = {{"balance", "other"}, {"other", "old"}};
    rules.dropped = {};
    const type_schema chain = laid_out("thing", {{"id", "id"}, {"balance", "u8"}, {"other", "u8"}});
    CHECK(object_of_record::changes(
              laid_out("thing", {{"id", "id"}, {"other", "u8"}, {"old", "u8"}}), chain, rules)[1]
              .was == "other u8");
    rules.renamed = {{"balance", "amount"}};
    rules.dropped = {"balance"};
    CHECK(object_of_record::changes(
              laid_out("thing", {{"id", "id"}, {"balance", "u8"}, {"amount", "u8"}}),
              laid_out("thing", {{"id", "id"}, {"balance", "u8"}}), rules)[1]
              .was == "amount u8");
}

TEST_CASE("a value that the new type does not have is refused with type, id, field and value") {
    CHECK(migrated("u64", "u8", 255) == "255");
    CHECK(migrated("u64", "u8", 256)
              .starts_with("thing 5: field x: 256 is no unsigned integer of 8"));
    CHECK(migrated("i64", "u64", -1)
              .starts_with("thing 5: field x: -1 is no unsigned integer of 64"));
    CHECK(migrated("u64", "i64", UINT64_MAX).find("18446744073709551615 is no signed integer") !=
          std::string::npos);
    CHECK(migrated("u64", "i128", UINT64_MAX) == "18446744073709551615");
    CHECK(migrated("i128", "i8", -128) == "-128");
    CHECK(migrated("i128", "i8", -129).find("field x: -129 is no") != std::string::npos);
    CHECK(migrated("i8", "bool", 1) == "true");
    CHECK(migrated("i8", "bool", -1).find("field x: -1 is no bool") != std::string::npos);
    CHECK(migrated("bool", "i128", true) == "1");
    CHECK(migrated("f64", "f32", 0.5) == "0.5");
    CHECK(migrated("f64", "f32", 0.1).find("field x: 0.1 is no f32") != std::string::npos);
    CHECK(migrated("f64", "f32", 1e300).find("field x: 1e+300 is no f32") != std::string::npos);
    CHECK(migrated("f64", "f32", "-inf") == "\"-inf\"");
    CHECK(migrated("f32", "f64", "nan(7f800001)") == "\"nan(7ff0000020000000)\"");
    CHECK(migrated("f64", "f32", "nan(7ff0000020000000)") == "\"nan(7f800001)\"");
    CHECK(migrated("f64", "f32", "nan(7ff0000000000001)").find("is no f32") != std::string::npos);
    CHECK(migrated("shared_string", "fixed_string<8>", "8 bytes!") == "\"8 bytes!\"");
    CHECK(migrated("shared_string", "fixed_string<8>", "9 bytes!!")
              .find(R"(field x: "9 bytes!!" of 9 bytes is no text of at most 8)") !=
          std::string::npos);
    CHECK(migrated("shared_string", "fixed_string<8>", std::string("a\0b", 3))
              .find(R"("a?b" of 3 bytes is no text)") != std::string::npos);
    CHECK(migrated("u8[3]", "u16[2]", "010200") == "[1,2]");
    CHECK(migrated("u8[3]", "u16[2]", "010203").find("array of 3 elements is no array of 2") !=
          std::string::npos);
    CHECK(migrated("f64[2]", "f64[1]", {1, -0.0}).find("is no array of 1") != std::string::npos);
    CHECK(migrated("u8[3]", "shared_vector<u64>", "010200") == "[1,2,0]");
    CHECK(migrated("u64[2]", "shared_vector<u64>", {1, 2}) == "[1,2]");
}

TEST_CASE("an integer of 128 bits has an older name") {
    type_schema from = laid_out("thing", {{"id", "id"}, {"x", "i128"}});
    const type_schema to = from;
    from.fields[1].type = "bytes<16>";
    CHECK(object_of_record::changes(from, to)[1].what == change::same);
    CHECK(object_of_record::changes(to, from)[1].what == change::same);
    object_of_record reader(from, to);
    byte_buffer record = record_of(from, {{"id", 1}, {"x", std::string(32, 'f')}});
    CHECK(printed(to, reader.read(record), reader) == R"({"id":1,"x":-1})");
}

TEST_CASE("a program computes fields of the new object from the record") {
    const type_schema from = laid_out("thing", {{"id", "id"}, {"a", "u32"}, {"b", "u32"}});
    const type_schema to =
        laid_out("thing", {{"id", "id"}, {"sum", "u64"}, {"name", "shared_string"}});
    migration_rules rules{{}, {"a", "b"}, {}};
    rules.compute = [&](bytes_view record, std::span<std::byte> object) {
        REQUIRE(object.size() == to.value_bytes);
        const std::uint64_t sum = rows::copy_at<std::uint32_t>(record.data() + 8) +
                                  std::uint64_t{rows::copy_at<std::uint32_t>(record.data() + 12)};
        if (sum != 0) std::memcpy(object.data() + to.fields[1].offset, &sum, sizeof sum);
    };
    object_of_record reader(from, to, rules);
    for (const std::uint32_t a : {UINT32_MAX, 0U}) {
        const byte_buffer record = record_of(from, {{"id", 3}, {"a", a}, {"b", a}});
        CHECK(printed(to, reader.read(record), reader) ==
              R"({"id":3,"sum":)" + std::to_string(2 * std::uint64_t{a}) + R"(,"name":""})");
    }
}
