// A dump makes the state again, to the last byte of what it means.
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/dumped.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/world.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

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
