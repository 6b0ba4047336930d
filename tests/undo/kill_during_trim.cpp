// A process is killed between any two words of the log while it gives space back: the state is
// whole, and the log and the buffers work on.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>
#include <tests/failure/killed_chain.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/sample_types.hpp>

#include <algorithm>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace {

std::string text_of(std::uint32_t number) {
    return std::to_string(number) + std::string(number % 7 == 0 ? 90'000 : 300 * (number % 9), 'x');
}

void add_label(database& db, std::uint32_t number) {
    db.create<label>([&](label& l) {
        l.uses = number;
        l.text = text_of(number);
    });
}

/// Labels with holes between them, and a log that stands in a later chunk.
void fill(database& db) {
    db.add_type<label>("label");
    for (std::uint32_t n = 0; n < 120; ++n)
        add_label(db, n);
    for (std::uint32_t n = 0; n < 120; ++n)
        if (n % 3 != 1 || n > 90) db.remove(*db.find<label, by_text>(text_of(n)));
    auto block = db.start_session();
    const label& any = *db.objects<label>().begin();
    for (int i = 0; i < 40; ++i)
        db.modify(any,
                  [&](label& l) { l.text = std::string(60'000, static_cast<char>('a' + i % 20)); });
    db.modify(any, [&](label& l) { l.text = text_of(l.uses); });
    block.push();
    db.commit(db.revision());
}

void check(database& db) {
    for (std::uint32_t n = 0; n < 120; ++n) {
        const bool wanted = n % 3 == 1 && n <= 90;
        const label* found = db.find<label, by_text>(text_of(n));
        if ((found != nullptr) != wanted || (found && found->uses != n)) FAIL("label " << n);
    }
}

} // namespace

TEST_CASE("killed while space is given back, at any word and any record") {
    const scratch_folder folder;
    for (const fault::point where : {fault::point::log_word, fault::point::log_append}) {
        std::uint64_t points = 0;
        {
            database db(folder / "reference", quick_options());
            fill(db);
            count_points(where);
            db.compact();
            fault::hook = nullptr;
            points = points_counted();
            check(db);
        }
        std::filesystem::remove_all(folder / "reference");
        REQUIRE(points > 3);
        const std::uint64_t tries = std::min<std::uint64_t>(points, 30);
        for (std::uint64_t i = 0; i < tries; ++i) {
            const auto state = folder / "state";
            const ending end = run_process([&] {
                database db(state, quick_options());
                fill(db);
                kill_at_nth(where, points * i / tries);
                db.compact();
            });
            INFO("killed at point " << points * i / tries << " of " << points);
            REQUIRE(end.killed);
            database db(state, quick_options());
            db.add_type<label>("label");
            check(db);
            const snapshot before(db.memory());
            {
                auto session = db.start_session();
                for (std::uint32_t n = 500; n < 560; ++n)
                    add_label(db, n);
            }
            CHECK(snapshot(db.memory()) == before);
            db.compact();
            check(db);
            std::filesystem::remove_all(state);
        }
    }
}
