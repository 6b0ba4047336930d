// A process is killed during work other than blocks: compaction, releasing space, growing hash
// tables. Every object is still there, under every key, and the work was done or not.

#include <chainbase/database.hpp>

#include <catch2/catch.hpp>
#include <tests/support/failing_database.hpp>
#include <tests/support/one_type.hpp>
#include <tests/support/sample_types.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace fs = std::filesystem;

// --- compaction ---

TEST_CASE("killed while compacting, no object is lost") {
    const walk_options many{.changes = {.objects = 150}, .verify = false};
    std::uint64_t seed = test_seed(21);
    const auto fill = [&](world& w) {
        random_source random(seed);
        for (int i = 0; i < 6000; ++i)
            w.change_unchecked(random);
    };
    kill_trial trial;
    trial.work = [&](const fs::path& state, const killed_process& self) {
        world w(state, many);
        fill(w);
        self.arm();
        w.db().compact();
    };
    // Some seeds leave few holes.
    std::uint64_t points = points_of(fault::point::log_append, trial);
    for (int more = 0; points <= 300; ++more) {
        REQUIRE(more < 20);
        ++seed;
        points = points_of(fault::point::log_append, trial);
    }
    INFO("seed " << seed);
    const scratch_folder folder;
    world reference(folder / "reference", many);
    fill(reference);
    CHECK(reference.peak() >= 100);
    const std::uint64_t wanted = digest_of(reference.db());
    reference.db().compact();
    CHECK(digest_of(reference.db()) == wanted);
    std::uint64_t seed_of_changes = 0;
    trial.check = [&](const fs::path& state, const progress&) {
        world left(state, {.changes = {.objects = 150}});
        CHECK(digest_of(left.db()) == wanted);
        CHECK_NOTHROW(check_keys_of(left.db()));
        random_source random(seed_of_changes++);
        for (int k = 0; k < 300; ++k)
            left.change_unchecked(random);
        CHECK_NOTHROW(left.check(random));
        CHECK_NOTHROW(left.compact());
    };
    kill_all_along(fault::point::log_append, trial, points, 40);
}

// --- space that is given back ---

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

/// Labels with holes between them, and a log that is in a later chunk.
void fill_with_holes(database& db) {
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

void check_labels(const database& db) {
    for (std::uint32_t n = 0; n < 120; ++n) {
        const bool wanted = n % 3 == 1 && n <= 90;
        const label* found = db.find<label, by_text>(text_of(n));
        if ((found != nullptr) != wanted || (found && found->uses != n)) FAIL("label " << n);
    }
}

} // namespace

TEST_CASE("killed while space is given back, at any word and any record") {
    kill_trial trial;
    trial.work = [](const fs::path& state, const killed_process& self) {
        database db(state, quick_options());
        fill_with_holes(db);
        self.arm();
        db.compact();
        check_labels(db);
    };
    trial.check = [](const fs::path& state, const progress&) {
        database db(state, quick_options());
        db.add_type<label>("label");
        check_labels(db);
        const snapshot before(db.memory());
        {
            auto session = db.start_session();
            for (std::uint32_t n = 500; n < 560; ++n)
                add_label(db, n);
        }
        CHECK(snapshot(db.memory()) == before);
        db.compact();
        check_labels(db);
    };
    for (const fault::point where : {fault::point::log_word, fault::point::log_append}) {
        const std::uint64_t points = points_of(where, trial);
        REQUIRE(points > 3);
        kill_all_along(where, trial, points, std::min<std::uint64_t>(points, 30));
    }
}

// --- hash tables that grow ---

namespace {

void add_cards(database& db, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t k = from; k < to; ++k)
        db.create<card>([&](card& c) { c.key = c.group = k; });
}

/// Grows the tables twice in a session, and once more in an inner one.
void grow(database& db) {
    auto outer = db.start_session();
    add_cards(db, 300, 900);
    auto inner = db.start_session();
    add_cards(db, 900, 1800);
    inner.squash();
    outer.push();
}

void require_cards(const database& db, std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k)
        if (!db.find<card, by_key>(k)) FAIL("key " << k << " of " << count);
}

/// Kills the growth; reopening restores the smaller tables, byte for byte.
class growing_tables {
public:
    growing_tables() {
        trial.setup = [this](const fs::path& state) {
            database db(state, quick_options());
            db.add_type<card>("card");
            add_cards(db, 0, 300);
            before_.emplace(db.memory());
        };
        trial.work = [](const fs::path& state, const killed_process& self) {
            database db(state, quick_options());
            db.add_type<card>("card");
            self.arm();
            grow(db);
        };
        trial.check = [this](const fs::path& state, const progress&) {
            database db(state, quick_options());
            db.add_type<card>("card");
            REQUIRE(db.count<card>() == 300);
            CHECK(snapshot(db.memory()) == *before_);
            require_cards(db, 300);
            grow(db);
            require_cards(db, 1800);
            db.undo_all();
            CHECK(snapshot(db.memory()) == *before_);
        };
    }

    kill_trial trial;

private:
    std::optional<snapshot> before_;
};

} // namespace

TEST_CASE("killed at each growth of a file while hash tables grow") {
    const growing_tables tables;
    CHECK(kill_at_each(fault::point::growth, tables.trial) >= 4);
}

TEST_CASE("killed at before-images all along the growth of hash tables") {
    const growing_tables tables;
    const std::uint64_t points = points_of(fault::point::log_append, tables.trial);
    REQUIRE(points > 2000);
    kill_all_along(fault::point::log_append, tables.trial, points, 60, 5);
}
