// The digest of a state from its catalogue alone: that of archive/state_digest.hpp.
#include <archive/described_record.hpp>
#include <archive/state_digest.hpp>
#include <chainbase/database.hpp>
#include <chainbase/rows/type_rows.hpp>
#include <pool_allocator/error.hpp>
#include <tools/inspect/compare/content_digest.hpp>
#include <tools/inspect/rows/type_records.hpp>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <tests/inspect/archived_notes.hpp>
#include <tests/inspect/program.hpp>
#include <tests/inspect/sample_state.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

enum class side : std::uint8_t { buy, sell };

struct price {
    std::int16_t amount = 0;
    std::uint64_t unit = 0;
    bool fixed = false;
};
BOOST_DESCRIBE_STRUCT(price, (), (amount, unit, fixed))

struct named_price {
    fixed_string<8> name;
    price value;
};
BOOST_DESCRIBE_STRUCT(named_price, (), (name, value))

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
    shared_vector<price> prices;
    std::array<std::uint8_t, 4> bytes{};
    std::array<std::uint32_t, 3> parts{};
    std::array<price, 2> pair{};
    std::array<std::array<std::uint16_t, 2>, 2> grid{};
    std::array<named_price, 2> named{};
    price one;
    chainbase::id<everything> other;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(everything, (),
                      (id, yes, what, letter, tiny, small, low, high, name, text, blob, numbers,
                       prices, bytes, parts, pair, grid, named, one, other))

/// No enum, no char: what the catalogue says of it is all there is.
struct plain {
    chainbase::id<plain> id;
    std::uint32_t count = 0;
    fixed_string<24> name;
    shared_string text;
    shared_vector<price> prices;
    std::array<price, 2> pair{};
    price one;
    bool yes = false;

    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(plain, (), (id, count, name, text, prices, pair, one, yes))

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
            std::vector<price> longer(e.prices.begin(), e.prices.end());
            longer.push_back({1, 2, true});
            e.prices = std::span<const price>(longer);
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

std::string digest_of(const fs::path& state, unsigned threads = 2) {
    return inspect::content_digest::of(state, {{}, threads, false}).digest;
}

outcome digest_with(const fs::path& state, const std::string& rest = {}) {
    return inspect_with("digest " + state.string() + " " + rest);
}

std::string told(const fs::path& state, const std::string& rest = {}) {
    return json::parse(digest_with(state, "--json " + rest).output).at("digest");
}

std::string text_of_file(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

void use_notes(const fs::path& state, archive::store_kind kind,
               const std::function<void(database&, notes&)>& use) {
    database db(state, small_state());
    db.add_type<note>("note");
    const auto rows = archive::open_archive(db, state / "archive", kind);
    notes all(db, *rows, "note");
    use(db, all);
}

constexpr std::array every_kind{archive::store_kind::rocksdb, archive::store_kind::memory,
                                archive::store_kind::none};

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

TEST_CASE("digest: the same for the same content whatever its history") {
    const scratch_folder folder;
    const auto state = folder / "state";
    build_sample_state(state);
    const std::string before = digest_of(state);
    compact_sample_state(state);
    CHECK(digest_of(state) == before);
    open_both(folder / "one", [](database& db) {
        for (std::uint32_t i = 0; i < 9; ++i)
            db.create<plain>([&](plain& p) { p.count = i; });
    });
    open_both(folder / "other", [](database& db) {
        for (std::uint32_t i = 0; i < 9; ++i) {
            db.create<plain>([&](plain& p) { p.count = 77; });
            const auto undone = db.start_session();
            db.modify(db.get(id<plain>(i)), [](plain& p) { p.text = "undone"; });
        }
        for (std::uint32_t i = 9; i-- > 0;)
            db.modify(db.get(id<plain>(i)), [&](plain& p) { p.count = i; });
    });
    CHECK(digest_of(folder / "one") == digest_of(folder / "other"));
}

TEST_CASE("digest: objects count wherever they are, in each kind of archive") {
    std::string expected;
    for (const auto kind : every_kind) {
        INFO(archive::to_string(kind));
        const scratch_folder folder;
        const auto state = folder / "state";
        build_notes(state, kind);
        std::string typed;
        use_notes(state, kind, [&](database&, notes& all) { typed = test::digest_of(all); });
        CHECK(told(state) == typed);
        CHECK(told(state, "--threads 7") == typed);
        if (expected.empty()) expected = typed;
        CHECK(typed == expected);
        CHECK((told(state, "--memory") == typed) == (kind == archive::store_kind::none));

        use_notes(state, kind, [&](database& db, notes& all) {
            all.remove(id<note>(1));
            if (kind != archive::store_kind::none) all.remove(id<note>(5));
            all.hand_over(db.committed_revision());
            typed = test::digest_of(all);
        });
        CHECK(told(state) == typed);
        CHECK(typed != expected);
        const json report = json::parse(digest_with(state, "--json").output);
        for (const json& type : report.at("types")) {
            const bool is_note = type.at("name") == "note";
            CHECK(type.at("digest").is_null() != is_note);
            CHECK(type.at("why_not").is_null() == is_note);
            if (is_note && kind != archive::store_kind::none)
                CHECK(type.at("archived_rows") == 4 - 1 + 1);
        }
    }
}

TEST_CASE("digest: after the writer's death that of what the next opening gives") {
    for (const auto kind : every_kind) {
        INFO(archive::to_string(kind));
        const scratch_folder folder;
        const auto state = folder / "state";
        build_notes(state, kind);
        {
            database db(state, small_state());
            db.add_type<note>("note");
            const auto rows = archive::open_archive(db, state / "archive", kind);
            notes all(db, *rows, "note");
            auto kept = db.start_session();
            write(db, "author", "kept", 40);
            all.hand_over(db.committed_revision());
            kept.push();
            auto lost = db.start_session();
            write(db, "author", "lost", 41);
            db.abandon();
            lost.push();
        }
        const std::string dead = told(state);
        const std::string shown = inspect_with("get " + state.string() + " note id 2").output;
        CHECK(shown.find("title 2") != std::string::npos);
        std::string typed;
        use_notes(state, kind, [&](database&, notes& all) { typed = test::digest_of(all); });
        CHECK(dead == typed);
        CHECK(told(state) == typed);
    }
}

TEST_CASE("digest: that of one type is another one than the whole") {
    const scratch_folder folder;
    const auto state = folder / "state";
    build_sample_state(state);
    const json all = json::parse(digest_with(state, "--json").output);
    const json one = json::parse(digest_with(state, "--json --type post").output);
    CHECK(all.at("schema_version") == 1);
    CHECK(all.at("revision") == 12);
    CHECK(all.at("types").size() == 4);
    REQUIRE(one.at("types").size() == 1);
    CHECK(one.at("digest") != all.at("digest"));
    for (const json& type : all.at("types"))
        if (type.at("name") == "post") CHECK(type == one.at("types").at(0));
    const std::string text = digest_with(state).output;
    CHECK(text.find("digest   " + all.at("digest").get<std::string>()) != std::string::npos);
    CHECK(digest_with(state, "--type posts 2>/dev/null").code == 2);
    CHECK(digest_with(state, "--threads 0 2>/dev/null").code == 2);
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

TEST_CASE("digest: what changes between two turns is noticed") {
    const scratch_folder folder;
    const auto state = folder / "state";
    open_both(state, [&](database& db) {
        db.create<plain>([](plain&) {});
        inspect::row_source from(state);
        inspect::still_state still(from);
        inspect::type_records records(still, "plain", nullptr, inspect::type_records::places::both);
        CHECK_FALSE(records.read(0, 1).empty());
        db.with_write_lock([&] { db.modify(db.get(id<plain>(0)), [](plain& p) { ++p.count; }); });
        CHECK_THROWS_AS(records.read(0, 1), inspect::moved_meanwhile);
        inspect::still_state later(from);
        CHECK_THROWS_AS(later.take_turn([&] {
            db.modify(db.get(id<plain>(0)), [](plain& p) { ++p.count; }); // takes no turn
            throw damaged_error("torn");
        }),
                        inspect::moved_meanwhile);
        CHECK_THROWS_AS(
            inspect::still_state(from).take_turn([] { throw damaged_error("damaged"); }),
            damaged_error);
    });
}

TEST_CASE("digest: of a state that moves there is none") {
    const scratch_folder folder;
    const auto state = folder / "state";
    open_both(state, [&](database& db) {
        for (std::uint32_t i = 0; i < 20'000; ++i)
            db.create<plain>([](plain&) {});
        std::atomic<bool> is_over{false};
        std::thread writer([&] {
            for (std::uint32_t i = 0; !is_over; i = (i + 1) % 20'000)
                db.with_write_lock(
                    [&] { db.modify(db.get(id<plain>(i)), [](plain& p) { ++p.count; }); });
        });
        for (int run = 0; run < 2; ++run) { // between two changes there may be time enough
            const outcome result = digest_with(state, "--json 2>" + (folder / "said").string());
            INFO(text_of_file(folder / "said"));
            CHECK((result.code == 6 || result.code == 0));
            const json report = json::parse(result.output);
            CHECK(report.at("moved") == (result.code == 6));
            CHECK(report.at("digest").is_null() == (result.code == 6));
            CHECK(report.at("types").empty() == (result.code == 6));
        }
        is_over = true;
        writer.join();
        CHECK(told(state) == typed_digest(db));
    });
}

TEST_CASE("digest: rows that the archive lost are told") {
    const scratch_folder folder;
    const auto state = folder / "state";
    build_notes(state);
    fs::remove_all(state / "archive");
    const outcome result = digest_with(state, "2>&1");
    CHECK(result.code == 1);
    CHECK(result.output.find("handed over 4") != std::string::npos);
    CHECK(digest_with(state, "--memory").code == 0);
}

TEST_CASE("digest: that of a state which was restored is the one it had") {
    const scratch_folder folder;
    const auto state = folder / "state";
    const auto opened = [&](const std::function<void(database&)>& use) {
        open_options options;
        options.window_bytes = std::size_t{64} << 20;
        options.promise = durability::checkpoint;
        database db(state, options);
        db.add_type<plain>("plain");
        use(db);
    };
    opened([](database& db) {
        for (std::uint32_t i = 0; i < 900; ++i)
            db.create<plain>([&](plain& p) {
                p.count = i;
                p.text = std::to_string(i * i);
            });
    });
    const std::string before = digest_of(state);
    fs::remove_all(state / "segment");
    opened([](database& db) { CHECK(db.opened().how == opening::way::restored); });
    CHECK(digest_of(state) == before);
}
