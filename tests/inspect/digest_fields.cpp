// The digest of a state from its catalogue alone: each kind of field comes to that of the type.
#include <archive/described_record.hpp>
#include <archive/state_digest.hpp>
#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <tests/inspect/archived_notes.hpp>
#include <tests/inspect/digest_support.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
namespace fs = std::filesystem;

namespace {

enum class side : std::uint8_t { buy, sell };

struct named_quote {
    fixed_string<8> name;
    quoted_price value;
};
BOOST_DESCRIBE_STRUCT(named_quote, (), (name, value))

/// Every kind of field that a record can hold.
struct everything {
    chainbase::id<everything> id;
    bool yes = false;
    side what = side::buy;
    char letter = 'a';
    std::int8_t tiny = 0;
    std::uint16_t small = 0;
    std::int64_t low = 0;
    std::uint64_t high = 0;
    fixed_string<16> name;
    shared_string text;
    shared_vector<std::uint8_t> blob;
    shared_vector<std::int32_t> numbers;
    shared_vector<quoted_price> prices;
    std::array<std::uint8_t, 4> bytes{};
    std::array<std::uint32_t, 3> parts{};
    std::array<quoted_price, 2> pair{};
    std::array<std::array<std::uint16_t, 2>, 2> grid{};
    std::array<named_quote, 2> named{};
    quoted_price one;
    chainbase::id<everything> other;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(everything, (),
                      (id, yes, what, letter, tiny, small, low, high, name, text, blob, numbers,
                       prices, bytes, parts, pair, grid, named, one, other))

/// What no record can hold.
struct measured {
    chainbase::id<measured> id;
    float single = 0;
    double real = 0;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(measured, (), (id, single, real))

using changes = std::vector<std::function<void(everything&)>>;

/// One change of each field, and of each member of one.
changes one_of_each() {
    return {
        [](everything& e) { e.yes = !e.yes; },
        [](everything& e) { e.what = e.what == side::buy ? side::sell : side::buy; },
        [](everything& e) { ++e.letter; },
        [](everything& e) { ++e.tiny; },
        [](everything& e) { ++e.small; },
        [](everything& e) { e.low ^= std::int64_t{1} << 40; },
        [](everything& e) { e.high ^= std::uint64_t{1} << 63; },
        [](everything& e) { e.name = e.name.view() == "x" ? "y" : "x"; },
        [](everything& e) { e.text = std::string(e.text.view()) + '\0'; },
        [](everything& e) {
            std::vector<std::uint8_t> longer(e.blob.begin(), e.blob.end());
            longer.push_back(0);
            e.blob = std::span<const std::uint8_t>(longer);
        },
        [](everything& e) {
            std::vector<std::int32_t> longer(e.numbers.begin(), e.numbers.end());
            longer.push_back(-1);
            e.numbers = std::span<const std::int32_t>(longer);
        },
        [](everything& e) {
            std::vector<quoted_price> longer(e.prices.begin(), e.prices.end());
            longer.push_back({1, 2, true});
            e.prices = std::span<const quoted_price>(longer);
        },
        [](everything& e) { ++e.bytes[3]; },
        [](everything& e) { ++e.parts[2]; },
        [](everything& e) { ++e.pair[1].unit; },
        [](everything& e) { ++e.grid[1][0]; },
        [](everything& e) { e.named[1].name = e.named[1].name.view() == "x" ? "y" : "x"; },
        [](everything& e) { e.named[0].value.fixed = !e.named[0].value.fixed; },
        [](everything& e) { ++e.one.amount; },
        [](everything& e) { ++e.other.value; },
    };
}

void change_some(everything& e, random_source& random) {
    const changes all = one_of_each();
    for (std::uint32_t i = random.below(12); i-- > 0;)
        all[random.below(static_cast<std::uint32_t>(all.size()))](e);
    if (random.chance(400)) e.text = random_text(random);
}

std::string typed_digest(const database& db) {
    archive::state_digest digest;
    digest.add<everything>(db, "everything");
    digest.add<plain>(db, "plain");
    return digest.hex();
}

/// A state of both types.
void open_both(const fs::path& state, const std::function<void(database&)>& use) {
    database db(state, quick_options());
    db.add_type<everything>("everything");
    db.add_type<plain>("plain");
    use(db);
}

} // namespace

TEST_CASE("digest: records from the catalogue are those of the types") {
    const archive::described_record known(schema_of<plain>("plain"));
    CHECK(known.layout() == archive::record_layout<plain>());
    CHECK(known.fingerprint() == archive::record_fingerprint<plain>);
    CHECK(known.undescribed().empty());
    const archive::described_record notes_too(schema_of<note>("note"));
    CHECK(notes_too.fingerprint() == archive::record_fingerprint<note>);
    CHECK(archive::described_record(schema_of<everything>("everything")).undescribed().empty());
}

TEST_CASE("digest: all kinds of fields come to the digest of their types, and each one counts") {
    const scratch_folder folder;
    const auto state = folder / "state";
    const std::uint64_t seed = test_seed(61);
    INFO("seed " << seed);
    random_source random(seed);
    std::string typed;
    open_both(state, [&](database& db) {
        for (int i = 0; i < 300; ++i)
            db.create<everything>([&](everything& e) { change_some(e, random); });
        for (std::uint32_t i = 0; i < 50; ++i)
            db.create<plain>([&](plain& p) {
                p.count = i;
                p.text = random_text(random);
            });
        for (std::uint32_t i = 0; i < 300; i += 1 + random.below(5))
            db.remove(db.get(id<everything>(i)));
        typed = typed_digest(db);
        CHECK(digest_of(state) == typed); // its writer is idle
    });
    for (const unsigned threads : {1U, 2U, 5U})
        CHECK(digest_of(state, threads) == typed);
    std::size_t number = 0;
    for (const auto& change : one_of_each()) {
        INFO("change " << number++);
        open_both(state, [&](database& db) {
            db.modify(*db.objects<everything>().begin(), change);
            CHECK(typed_digest(db) != typed);
            typed = typed_digest(db);
        });
        CHECK(digest_of(state) == typed);
    }
}

TEST_CASE("digest: what no record can hold is taken as it is and told") {
    const scratch_folder folder;
    const auto state = folder / "state";
    const auto with = [&](float single) {
        database db(state, quick_options());
        db.add_type<measured>("measured");
        if (db.count<measured>() == 0) db.create<measured>([](measured&) {});
        db.modify(*db.objects<measured>().begin(), [&](measured& m) { m.single = single; });
    };
    with(1);
    const std::string one = told(state);
    with(2);
    CHECK(told(state) != one);
    with(1);
    CHECK(told(state) == one);
}
