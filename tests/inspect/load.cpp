// A dump makes the state again, to the last byte of what it means.
#include <chainbase/database.hpp>
#include <tools/inspect/rows/row_format.hpp>
#include <tools/inspect/rows/row_reader.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/world.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct dumped {
    [[nodiscard]] std::string path(const char* name) const { return (folder / name).string(); }

    /// Dumps the state "from" to the file "dump".
    void dump() const {
        REQUIRE(inspect_with("dump " + path("from") + " --output " + path("dump")).code == 0);
    }
    [[nodiscard]] outcome load(const std::string& rest = "") const {
        return inspect_with("load " + path("to") + " " + path("dump") + " " + rest + " 2>&1");
    }
    [[nodiscard]] std::vector<std::string> lines() const {
        std::ifstream in(path("dump"));
        std::vector<std::string> all;
        for (std::string line; std::getline(in, line);)
            all.push_back(line);
        return all;
    }
    void write(const std::vector<std::string>& lines) const {
        std::ofstream out(path("dump"), std::ios::trunc);
        for (const std::string& line : lines)
            out << line << '\n';
    }

    scratch_folder folder;
};

struct amount {
    std::int64_t value = 0;
    std::uint16_t unit = 0;
};
BOOST_DESCRIBE_STRUCT(amount, (), (value, unit))

/// A field of every kind.
struct everything {
    chainbase::id<everything> id;
    bool yes = false;
    std::int8_t small = 0;
    std::uint64_t large = 0;
    std::int64_t negative = 0;
    float single = 0;
    double real = 0;
    fixed_string<16> name;
    std::array<std::uint8_t, 5> bytes{};
    std::array<std::int32_t, 3> numbers{};
    amount nested;
    shared_string text;
    shared_vector<double> reals;
    shared_bytes raw;
    shared_vector<amount> amounts;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(everything, (),
                      (id, yes, small, large, negative, single, real, name, bytes, numbers, nested,
                       text, reals, raw, amounts))

template <typename Float>
Float random_float(random_source& random) {
    constexpr Float special[] = {0,
                                 -0.0F,
                                 std::numeric_limits<Float>::infinity(),
                                 -std::numeric_limits<Float>::infinity(),
                                 std::numeric_limits<Float>::denorm_min(),
                                 std::numeric_limits<Float>::max()};
    if (random.chance(100)) return special[random.below(6)];
    Float any;
    do {
        const std::uint64_t bits = random.next();
        std::memcpy(&any, &bits, sizeof any);
    } while (std::isnan(any));
    return any;
}

std::string random_bytes(random_source& random, std::uint32_t below) {
    std::string bytes(random.below(below), '\0');
    for (char& c : bytes)
        c = static_cast<char>(random.next());
    return bytes;
}

void fill(everything& e, random_source& random) {
    e.yes = random.chance(500);
    e.small = static_cast<std::int8_t>(random.next());
    e.large = random.next();
    e.negative = static_cast<std::int64_t>(random.next());
    e.single = random_float<float>(random);
    e.real = random_float<double>(random);
    e.name = std::string_view(std::to_string(random.next())).substr(0, random.below(16));
    for (auto& byte : e.bytes)
        byte = static_cast<std::uint8_t>(random.next());
    for (auto& number : e.numbers)
        number = static_cast<std::int32_t>(random.next());
    e.nested = {static_cast<std::int64_t>(random.next()), 7};
    e.text = random_bytes(random, 40);
    std::vector<double> reals(random.below(4));
    for (double& real : reals)
        real = random_float<double>(random);
    e.reals = std::span<const double>(reals);
    const std::string raw = random_bytes(random, 30);
    e.raw = std::as_bytes(std::span(raw));
    const std::vector<amount> amounts(random.below(3), amount{-5, 9});
    e.amounts = std::span<const amount>(amounts);
}

} // namespace

TEST_CASE("a state loaded from a dump has the same dump, content and next ids") {
    const std::uint64_t seed = test_seed(83);
    INFO("seed " << seed);
    random_source random(seed);
    const dumped d;
    std::uint64_t digest = 0;
    {
        world w(d.path("from"), {.changes = {.objects = 80}});
        for (int step = 0; step < 4'000; ++step)
            w.step(random);
        w.undo_all();
        digest = digest_of(w.db());
    }
    d.dump();
    const outcome result = d.load();
    INFO(result.output);
    REQUIRE(result.code == 0);
    CHECK(inspect_with("check " + d.path("to")).code == 0);
    CHECK(inspect_with("dump " + d.path("to")).output ==
          inspect_with("dump " + d.path("from")).output);
    CHECK_FALSE(fs::exists(d.path("to.unfinished")));
    world w(d.path("to"), {.changes = {.objects = 80}});
    CHECK(digest_of(w.db()) == digest);
    for (int step = 0; step < 500; ++step)
        w.step(random);
    w.check(random);
}

TEST_CASE("values of every kind come back bit by bit") {
    const std::uint64_t seed = test_seed(84);
    INFO("seed " << seed);
    random_source random(seed);
    const dumped d;
    {
        database db(d.path("from"), quick_options());
        db.add_type<everything>("everything");
        for (int n = 0; n < 2'000; ++n)
            db.create<everything>([&](everything& e) { fill(e, random); });
    }
    d.dump();
    const outcome result = d.load();
    INFO(result.output);
    REQUIRE(result.code == 0);
    database from(d.path("from"), quick_options());
    database to(d.path("to"), quick_options());
    from.add_type<everything>("everything");
    to.add_type<everything>("everything");
    const auto same = [](const auto& a, const auto& b) {
        return std::memcmp(&a, &b, sizeof a) == 0;
    };
    for (const everything& a : from.objects<everything>()) {
        const everything& b = to.get(a.id);
        REQUIRE(same(a.yes, b.yes));
        REQUIRE(same(a.small, b.small));
        REQUIRE(same(a.large, b.large));
        REQUIRE(same(a.negative, b.negative));
        REQUIRE(same(a.single, b.single));
        REQUIRE(same(a.real, b.real));
        REQUIRE(same(a.name, b.name));
        REQUIRE(same(a.bytes, b.bytes));
        REQUIRE(same(a.numbers, b.numbers));
        REQUIRE(a.nested.value == b.nested.value);
        REQUIRE(a.nested.unit == b.nested.unit);
        REQUIRE(a.text == b.text);
        REQUIRE(a.reals == b.reals);
        REQUIRE(a.raw == b.raw);
        REQUIRE(a.amounts.size() == b.amounts.size());
        for (std::size_t n = 0; n < a.amounts.size(); ++n)
            REQUIRE((a.amounts[n].value == b.amounts[n].value &&
                     a.amounts[n].unit == b.amounts[n].unit));
    }
}

TEST_CASE("a dump with a wrong line is refused with its number and nothing is made") {
    const dumped d;
    {
        database db(d.path("from"), quick_options());
        db.add_type<token>("token");
        for (std::uint32_t n = 0; n < 3; ++n)
            db.create<token>([&](token& t) { t.code = n; });
    }
    d.dump();
    std::vector<std::string> lines = d.lines();
    REQUIRE(lines.size() == 5);
    struct fault {
        std::size_t line;
        std::string text; ///< in its place; nothing for a dump that ends before
        std::string said;
    };
    const fault one = GENERATE(values<fault>({
        {2, R"({"token":{"id":1,"code":"x","kind":0,"amount":0}})", "line 3: token: field code"},
        {2, R"({"token":{"id":1,"code":4294967296,"kind":0,"amount":0}})", "field code"},
        {2, R"({"token":{"id":1,"code":-1,"kind":0,"amount":0}})", "field code"},
        {2, R"({"token":{"id":1,"code":1.5,"kind":0,"amount":0}})", "field code"},
        {2, R"({"token":{"id":1,"kind":0,"amount":0}})", "field code is missing"},
        {2, R"({"token":{"id":1,"code":9,"kind":0,"amount":0,"more":1}})", "no field \"more\""},
        {2, R"({"token":{"id":0,"code":9,"kind":0,"amount":0}})", "line 3: token: there are two"},
        {2, R"({"token":{"id":1,"code":2,"kind":0,"amount":0}})", "token.by_code"},
        {2, R"({"coin":{"id":1}})", "line 3: neither a row"},
        {2, "no json", "line 3: no JSON"},
        {4, "", "not whole"},
        {4, R"({"schema_version":1,"rows":4,"revision":0,"moved":false,"complete":true})",
         "4 rows are counted"},
        {4, R"({"schema_version":1,"rows":3,"revision":0,"moved":true,"complete":true})",
         "--moved"},
        {4, R"({"schema_version":1,"rows":3,"revision":0,"moved":false,"complete":false})",
         "nor the last line"},
        {4, R"({"schema_version":1,"rows":"x","revision":0,"moved":false,"complete":true})",
         "number of rows"},
        {0, "{}", "line 1: no dump"},
        {0, R"({"dump":2})", "version 2"},
        {0, R"({"dump":1,"revision":1,"archive":true,"types":[]})", "rows of the archive"},
    }));
    lines[one.line] = one.text;
    if (one.text.empty()) lines.pop_back();
    d.write(lines);
    const outcome result = d.load();
    CHECK(result.code == 1);
    CHECK_THAT(result.output, Contains(one.said));
    CHECK_FALSE(fs::exists(d.path("to")));
    CHECK_FALSE(fs::exists(d.path("to.unfinished")));
}

TEST_CASE("a schema that does not fit its hash is refused") {
    const dumped d;
    build_sample_state(d.path("from"));
    d.dump();
    std::vector<std::string> lines = d.lines();
    json head = json::parse(lines[0]);
    head["types"][0]["value_bytes"] = 1000;
    lines[0] = head.dump();
    d.write(lines);
    const outcome result = d.load();
    CHECK(result.code == 1);
    CHECK_THAT(result.output, Contains("hash"));
}

TEST_CASE("nothing that is there is replaced, and what a killed load left is taken away") {
    const dumped d;
    build_sample_state(d.path("from"));
    d.dump();
    SECTION("a folder of the name") {
        fs::create_directory(d.path("to"));
        CHECK(d.load().code == 2);
        CHECK(fs::is_empty(d.path("to")));
    }
    SECTION("a folder of the other name that nobody knows") {
        fs::create_directory(d.path("to.unfinished"));
        CHECK(d.load().code == 2);
        CHECK(fs::exists(d.path("to.unfinished")));
    }
    SECTION("the remains of a call that was killed") {
        fs::create_directory(d.path("to.unfinished"));
        std::ofstream(d.path("to.unfinished") + "/unfinished");
        std::ofstream(d.path("to.unfinished") + "/half");
        CHECK(d.load().code == 0);
        CHECK_FALSE(fs::exists(d.path("to") + "/half"));
        CHECK_FALSE(fs::exists(d.path("to") + "/unfinished"));
    }
}

TEST_CASE("load reads stdin and says what it made") {
    const dumped d;
    const sample_counts made = build_sample_state(d.path("from"));
    d.dump();
    const outcome result = inspect_with("load " + d.path("to") + " --json < " + d.path("dump"));
    REQUIRE(result.code == 0);
    const json report = json::parse(result.output);
    CHECK(report.at("schema_version") == 1);
    CHECK(report.at("revision") == made.revision);
    CHECK(report.at("types").at(0).at("name") == "account");
    CHECK(report.at("types").at(0).at("rows") == made.accounts);
}

TEST_CASE("a dump that was cut within the keys of a type is gone on with") {
    const dumped d;
    build_sample_state(d.path("from"));
    d.dump();
    const std::vector<std::string> whole = d.lines();
    std::size_t key_line = 0;
    while (!whole[key_line].starts_with(R"({"key":)"))
        ++key_line;
    for (const std::size_t kept : {key_line, key_line + 1, key_line + 2}) {
        d.write({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept)});
        CHECK(
            inspect_with("dump " + d.path("from") + " --resume --output " + d.path("dump")).code ==
            0);
        CHECK(d.lines() == whole);
    }
}
