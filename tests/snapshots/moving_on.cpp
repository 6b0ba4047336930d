// Snapshots that move on to the newest block: what they show then, and what that costs.

#include <chainbase/snapshot/snapshot.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/snapshots/sample_chain.hpp>

#include <cstdint>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using taken = chainbase::snapshot;

namespace {

constexpr int accounts = 5'000;

void pay(chain& in, const char* name) {
    in.block([&] {
        in.db.modify(in.db.get<account, by_name>(name), [](account& one) { ++one.balance; });
    });
}

std::int64_t sum_of(const taken& from) {
    std::int64_t sum = 0;
    for (const account& one : from.view<account, by_balance>())
        sum += one.balance;
    return sum;
}

constexpr std::int64_t sum_at_first = std::int64_t{accounts} * (accounts - 1) / 2;

} // namespace

TEST_CASE("a snapshot moves on to the newest block, and copies only what changed") {
    chain c;
    c.fill(accounts);
    c.db.commit(c.db.revision());
    taken then(c.db);
    CHECK(sum_of(then) == sum_at_first);
    const std::uint64_t whole = then.costs().pages;
    pay(c, "a7");
    CHECK_FALSE(then.is_newest());
    then.renew();
    CHECK(then.is_newest());
    CHECK(then.revision() == c.db.revision());
    CHECK(sum_of(then) == sum_at_first + 1);
    CHECK(then.get<account, by_name>("a7").balance == 8);
    CHECK(then.costs().pages - whole < whole / 8);
    SECTION("with nothing new it stays") {
        const std::uint64_t before = then.costs().pages;
        then.renew();
        CHECK(then.costs().pages == before);
        CHECK(sum_of(then) == sum_at_first + 1);
    }
    SECTION("to objects, texts and tables that were not there") {
        c.block([&] {
            for (int i = 0; i < 3 * accounts; ++i)
                c.add(("b" + std::to_string(i)).c_str(), accounts + i);
            c.db.create<post>([](post& made) {
                made.permlink = std::string(100, 'x');
                made.body = std::string(200'000, 'y');
            });
        });
        then.renew();
        CHECK(then.count<account>() == 4 * accounts);
        CHECK(then.get<account, by_name>("b14999").balance == 4 * accounts - 1);
        CHECK(then.get(id<post>(0)).body == std::string(200'000, 'y'));
    }
    SECTION("over more log than it has pages") {
        churn(c, 20);
        then.renew();
        CHECK(then.get<account, by_name>("a77").visits == 20);
        CHECK(sum_of(then) == sum_at_first + 1);
    }
    SECTION("of which no page is kept") {
        pay(c, "a8");
        const std::uint64_t held = then.costs().bytes;
        then.renew(0);
        CHECK(then.costs().bytes < held / 2);
        CHECK(sum_of(then) == sum_at_first + 2);
    }
}

TEST_CASE("a snapshot moves on to a file that has outgrown its addresses") {
    open_options options = quick_options();
    options.window_bytes = std::size_t{1} << 30;
    chain c(options);
    c.fill(accounts);
    taken then(c.db);
    CHECK(sum_of(then) == sum_at_first);
    const std::string text(std::size_t{100} << 20, 'z');
    c.block([&] { c.db.create<post>([&](post& made) { made.body = text; }); });
    then.renew();
    CHECK((then.get(id<post>(0)).body == text)); // not printed
    CHECK(sum_of(then) == sum_at_first);
}

TEST_CASE("a snapshot that is too old moves on") {
    chain c(keeping(std::uint64_t{4} << 20));
    c.fill(accounts);
    c.db.commit(c.db.revision());
    pay(c, "a1");
    taken then(c.db);
    CHECK(sum_of(then) == sum_at_first + 1);
    SECTION("its block was undone") {
        c.db.undo();
        CHECK(then.is_too_old());
        then.renew();
        CHECK(sum_of(then) == sum_at_first);
    }
    SECTION("undone, and another block in its place") {
        c.db.undo();
        pay(c, "a2");
        then.renew();
        CHECK(then.get<account, by_name>("a1").balance == 1);
        CHECK(then.get<account, by_name>("a2").balance == 3);
    }
    SECTION("the log does not reach back") {
        churn(c, 40);
        CHECK(then.is_too_old());
        then.renew();
        CHECK(then.get<account, by_name>("a77").visits == 40);
        CHECK(sum_of(then) == sum_at_first + 1);
    }
    SECTION("it was compacted") {
        c.db.commit(c.db.revision());
        c.db.compact();
        then.renew();
        CHECK(sum_of(then) == sum_at_first + 1);
    }
}

TEST_CASE("a snapshot that moves on sees types that were added, and a segment made anew") {
    scratch_folder folder;
    const std::string state = folder / "state";
    database db(state, quick_options());
    db.add_type<account>("account");
    const auto add = [&] {
        auto block = db.start_session();
        db.create<account>([&](account& made) {
            made.name = std::string_view("n" + std::to_string(made.id.value));
            made.number = made.id.value;
        });
        block.push();
        db.commit(db.revision());
    };
    add();
    taken then(state);
    then.add_type<account>("account");
    CHECK(then.count<account>() == 1);
    SECTION("a type") {
        db.add_type<post>("post");
        CHECK_FALSE(then.has_type("post"));
        then.renew();
        CHECK(then.has_type("post"));
        then.add_type<post>("post");
        CHECK(then.count<post>() == 0);
    }
    SECTION("opened again") {
        db.close();
        db = database(state, quick_options());
        db.add_type<account>("account");
        add();
        then.renew();
        CHECK(then.count<account>() == 2);
    }
}
