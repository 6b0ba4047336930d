// Every kind of field, as JSON.
#include <chainbase/database.hpp>
#include <chainbase/rows/value_type.hpp>
#include <tools/inspect/rows/row_query.hpp>
#include <tools/inspect/rows/row_source.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/support/scratch_state.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;

namespace {

struct price {
    std::int16_t amount = 0;
    std::uint64_t unit = 0;
    bool fixed = false;
};
BOOST_DESCRIBE_STRUCT(price, (), (amount, unit, fixed))

enum class side : std::uint8_t { buy, sell };

struct by_digest;

struct everything {
    chainbase::id<everything> id;
    bool yes = false;
    side what = side::buy;
    std::int8_t tiny = 0;
    std::uint16_t small = 0;
    std::int64_t low = 0;
    std::uint64_t high = 0;
    float single = 0;
    double real = 0;
    fixed_string<16> name;
    shared_string text;
    shared_vector<std::uint8_t> blob;
    shared_vector<std::int32_t> numbers;
    shared_vector<price> prices;
    std::array<std::uint8_t, 4> digest{};
    std::array<std::uint32_t, 3> parts{};
    std::array<price, 2> pair{};
    price one;
    chainbase::id<everything> other;

    using keys = chainbase::keys<ordered_unique<by_digest, &everything::digest>>;
};
BOOST_DESCRIBE_STRUCT(everything, (),
                      (id, yes, what, tiny, small, low, high, single, real, name, text, blob,
                       numbers, prices, digest, parts, pair, one, other))

/// A state with one object, as `fill` makes it, read back.
class one_object {
public:
    template <typename Fill>
    explicit one_object(Fill&& fill) {
        {
            database db(folder_ / "state", quick_options());
            db.add_type<everything>("everything");
            db.create<everything>(fill);
        }
        inspect::row_source from(folder_ / "state");
        const auto found = inspect::find_rows(from, "everything", "id", {"0"});
        text = found.json.at(0);
        cells = found.cells.at(0);
        value = json::parse(text);
    }

    std::string text;
    std::vector<std::string> cells;
    json value;

private:
    scratch_folder folder_;
};

std::string text_with(std::string_view text) {
    const one_object made([&](everything& e) { e.text = text; });
    return made.value.at("text").dump();
}

} // namespace

TEST_CASE("row values: each kind of field has its form") {
    const one_object made([](everything& e) {
        e.yes = true;
        e.what = side::sell;
        e.tiny = -128;
        e.small = 65535;
        e.low = INT64_MIN;
        e.high = UINT64_MAX;
        e.single = 0.1F;
        e.real = 1e300;
        e.name = std::string_view("sixteen letters!");
        e.text = std::string_view("plain");
        e.blob = std::array<std::uint8_t, 3>{0, 255, 16};
        e.numbers = std::array<std::int32_t, 3>{-1, 0, 7};
        e.prices = std::array<price, 2>{price{-5, 9, true}, price{1, 2, false}};
        e.digest = {0xDE, 0xAD, 0xBE, 0xEF};
        e.parts = {1, 2, 3};
        e.pair[1] = {4, 5, true};
        e.one = {-7, 8, false};
        e.other.value = 12;
    });
    CHECK(made.text.find("\"high\":18446744073709551615,") != std::string::npos);
    CHECK(made.text.find("\"single\":0.1,") != std::string::npos);
    const json& row = made.value;
    CHECK(row.at("id") == 0);
    CHECK(row.at("yes") == true);
    CHECK(row.at("what") == 1);
    CHECK(row.at("tiny") == -128);
    CHECK(row.at("small") == 65535);
    CHECK(row.at("low") == INT64_MIN);
    CHECK(row.at("real") == 1e300);
    CHECK(row.at("name") == "sixteen letters!");
    CHECK(row.at("text") == "plain");
    CHECK(row.at("blob") == "00ff10");
    CHECK(row.at("numbers") == json({-1, 0, 7}));
    CHECK(row.at("prices") == json::parse(R"([{"amount":-5,"unit":9,"fixed":true},
                                              {"amount":1,"unit":2,"fixed":false}])"));
    CHECK(row.at("digest") == "deadbeef");
    CHECK(row.at("parts") == json({1, 2, 3}));
    CHECK(row.at("pair").at(1).at("unit") == 5);
    CHECK(row.at("one") == json::parse(R"({"amount":-7,"unit":8,"fixed":false})"));
    CHECK(row.at("other") == 12);
    CHECK(made.cells.at(9) == "sixteen letters!");
}

TEST_CASE("row values: texts with any bytes stay JSON and can be told apart") {
    CHECK(text_with("") == "\"\"");
    CHECK(text_with("a\"b\\c\n\t\x01") == R"("a\"b\\c\n\t\u0001")");
    CHECK(text_with(std::string_view("nul\0in it", 9)) == R"("nul\u0000in it")");
    CHECK(text_with("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80") ==
          "\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\"");
    CHECK(text_with("\xff") == R"({"hex":"ff"})");
    CHECK(text_with("cut \xe2\x82") == R"({"hex":"63757420e282"})");
    CHECK(text_with("\xed\xa0\x80") == R"({"hex":"eda080"})"); // half of a pair
    CHECK(text_with("\xc0\x80") == R"({"hex":"c080"})");       // longer than it need be
    CHECK(text_with("</script>") == R"("</script>")");
    for (int byte = 1; byte < 256; ++byte) {
        const std::string text(1, static_cast<char>(byte));
        const one_object made([&](everything& e) { e.name = std::string_view(text); });
        if (byte < 0x80)
            CHECK(made.value.at("name") == text);
        else
            CHECK(made.value.at("name").contains("hex"));
    }
}

TEST_CASE("row values: numbers that JSON has none for are texts") {
    const one_object made([](everything& e) {
        e.real = std::numeric_limits<double>::quiet_NaN();
        e.single = -std::numeric_limits<float>::infinity();
    });
    CHECK(made.value.at("real") == "nan");
    CHECK(made.value.at("single") == "-inf");
}

TEST_CASE("row values: arrays are found by their elements") {
    scratch_folder folder;
    {
        database db(folder / "state", quick_options());
        db.add_type<everything>("everything");
        db.create<everything>([](everything& e) { e.digest = {1, 2, 3, 250}; });
    }
    inspect::row_source from(folder / "state");
    CHECK(inspect::find_rows(from, "everything", "by_digest", {"1,2,3,250"}).json.size() == 1);
    CHECK(inspect::find_rows(from, "everything", "by_digest", {"[1,2,3,250]"}).json.size() == 1);
    CHECK(inspect::find_rows(from, "everything", "by_digest", {"1,2,3,4"}).json.empty());
    for (const char* wrong : {"1,2,3", "1,2,3,4,5", "1,2,3,256", "", "1,2,,3", "1,2,3,4,"})
        CHECK_THROWS_AS(inspect::find_rows(from, "everything", "by_digest", {wrong}), usage_error);
}

TEST_CASE("row values: names of types that are none, or of another length, are bytes") {
    using rows::value_type;
    using kind = value_type::kind;
    CHECK(value_type::of("u32", 4).what == kind::number);
    CHECK(value_type::of("u32", 8).what == kind::opaque);
    CHECK(value_type::of("{a u8, b u64}", 16).members.at(1).offset == 8);
    CHECK(value_type::of("{a u8, b u64}", 9).what == kind::opaque);
    CHECK(value_type::of("{a bytes<4>}", 4).what == kind::opaque);
    CHECK(value_type::of("shared_vector<{a u8, b fixed_string<8>}>", 8).element().bytes == 16);
    CHECK(value_type::of("shared_vector<fixed_string<24>>", 8).element().bytes == 24);
    CHECK(value_type::of("{a {b u16[3], c bool}, d id}[2]", 24).what == kind::array);
    std::string deep;
    for (int i = 0; i < 100'000; ++i)
        deep += "shared_vector<";
    for (const std::string& wrong :
         {std::string(), std::string("u24"), std::string("{"), std::string("{}"),
          std::string("{a}"), std::string("u8["), std::string("u8[]"), std::string("u8[-1]"),
          std::string("u64[4294967295]"), std::string("fixed_string<"),
          std::string("fixed_string<>"), std::string("shared_vector<u8"), deep})
        CHECK(value_type::of(wrong, 8).what == kind::opaque);
}
