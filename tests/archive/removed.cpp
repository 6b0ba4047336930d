#include <catch2/catch.hpp>
#include <tests/archive/world.hpp>

#include <chrono>
#include <string>
#include <thread>

/// Finished objects that are removed, wherever they are, and others that take their keys.
using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr id<note> second(1);

/// Three notes, of which the second one ("alice", "two") is in the archive.
struct archived_world : world {
    explicit archived_world(std::unique_ptr<archive::store> store = std::make_unique<heap_store>())
        : world(std::move(store)) {
        three_notes();
        hand_over();
    }
    void remove_second() {
        block([&] { all.remove(second); });
    }
    id<note> write_again(std::int64_t weight) {
        id<note> made;
        block([&] {
            made = all.create([&](note& one) {
                          one.author = "alice";
                          one.title = "two";
                          one.weight = weight;
                      })
                       .id;
        });
        return made;
    }
    void archive(id<note> number) {
        block([&] { all.retire(state.get(number)); });
        state.commit(state.revision());
        hand_over();
    }
    [[nodiscard]] std::int64_t weight_of_second() const {
        const auto found = all.find<by_title>("alice", "two");
        return found ? found->get<&note::weight>() : -1;
    }
    [[nodiscard]] std::size_t all_visited() const {
        std::size_t visited = 0;
        all.for_each([&](const archive::found<note>&) { ++visited; });
        return visited;
    }
};

} // namespace

TEST_CASE("an archived object that is removed is found by nothing, until that is popped") {
    archived_world w;
    const std::string before = digest_of(w.all);
    w.remove_second();
    CHECK_FALSE(w.all.find(second));
    CHECK_FALSE(w.all.find<by_title>("alice", "two"));
    CHECK(w.all.range<by_weight>(20).valid() == false);
    CHECK(w.all_visited() == 2);
    CHECK(w.all.archived() == 0);
    CHECK(w.in_store(1)); // for states of an earlier time
    CHECK(digest_of(w.all) != before);
    w.state.undo();
    CHECK(w.weight_of_second() == 20);
    CHECK(w.all_visited() == 3);
    CHECK(w.all.archived() == 1);
    CHECK(digest_of(w.all) == before);
}

TEST_CASE("the key of an archived object is taken, until that is removed") {
    archived_world w;
    const std::string before = digest_of(w.all);
    CHECK_THROWS_WITH(w.write_again(70),
                      Catch::Contains("note: by_title = ") && Catch::Contains("alice") &&
                          Catch::Contains("is that of note 1 in the archive, so 3 cannot have it"));
    CHECK_THROWS_AS(w.write_again(70), duplicate_key_error);
    CHECK(w.all.in_memory() == 2);
    CHECK(digest_of(w.all) == before); // nor is an id used up
    w.remove_second();
    const id<note> third = w.write_again(70);
    CHECK(third.value == 3);
    CHECK(w.all.find<by_title>("alice", "two")->id() == third);
    CHECK_THROWS_AS(w.write_again(71), duplicate_key_error);
}

TEST_CASE("objects that take the same key one after the other are all archived") {
    archived_world w;
    for (std::int64_t again = 1; again < 5; ++again) {
        w.block([&] { w.all.remove(w.all.find<by_title>("alice", "two")->id()); });
        CHECK(w.weight_of_second() == -1);
        const id<note> made = w.write_again(100 + again);
        w.archive(made);
        CHECK_FALSE(w.all.find<by_title>("alice", "two")->in_memory());
        CHECK(w.weight_of_second() == 100 + again);
        CHECK(w.all.range<by_weight>(100 + again)->id() == made);
        CHECK(w.all.archived() == 1);
        CHECK(w.all_visited() == 3);
    }
}

TEST_CASE("popping back over a key that was taken again finds the object before") {
    archived_world w;
    const std::string before = digest_of(w.all);
    w.remove_second();
    const id<note> made = w.write_again(70);
    w.block([&] { w.all.retire(w.state.get(made)); });
    CHECK(w.weight_of_second() == 70);
    for (int popped = 0; popped < 2; ++popped)
        w.state.undo();
    CHECK(w.weight_of_second() == -1);
    w.state.undo();
    CHECK(w.weight_of_second() == 20);
    CHECK(digest_of(w.all) == before);
}

TEST_CASE("an object that took a key is back in memory when its hand-over is popped") {
    archived_world w;
    w.remove_second();
    w.archive(w.write_again(70));
    REQUIRE_FALSE(w.all.find<by_title>("alice", "two")->in_memory());
    w.state.undo();
    CHECK(w.all.find<by_title>("alice", "two")->in_memory());
    CHECK(w.weight_of_second() == 70);
    CHECK(w.hand_over() == 1);
    CHECK(w.weight_of_second() == 70);
}

TEST_CASE("a state of an earlier time finds what was removed later, under a key that was taken") {
    const temporary_folder folder;
    const bool on_disk = GENERATE(true, false);
    archived_world ahead(on_disk ? archive::open_store(folder / "rows")
                                 : std::make_unique<heap_store>());
    const std::string early = digest_of(ahead.all);
    ahead.remove_second();
    ahead.archive(ahead.write_again(70));
    const std::string late = digest_of(ahead.all);

    archived_world behind(std::move(ahead.rows));
    CHECK(digest_of(behind.all) == early);
    CHECK(behind.weight_of_second() == 20);
    CHECK(behind.all.find(second)->get<&note::weight>() == 20);
    behind.remove_second();
    CHECK(behind.weight_of_second() == -1);
    behind.archive(behind.write_again(70));
    CHECK(behind.weight_of_second() == 70);
    CHECK(digest_of(behind.all) == late);
}

TEST_CASE("an object that is finished and still in memory is removed for good") {
    world w;
    w.three_notes();
    const std::string before = digest_of(w.all);
    w.block([&] { w.all.remove(second); });
    CHECK_FALSE(w.all.find(second));
    CHECK(w.all.waiting() == 0);
    CHECK(w.all.archived() == 0);
    CHECK(w.hand_over() == 0);
    CHECK_FALSE(w.in_store(1));
    w.block([&] { write(w.state, "alice", "two", 70); });
    w.state.undo();
    w.state.undo(); // the empty hand-over
    w.state.undo();
    CHECK(digest_of(w.all) == before);
    CHECK(w.hand_over() == 1);
    CHECK(w.all.archived() == 1);
}

TEST_CASE(
    "a removal that is popped after later ones were written brings the object back for good") {
    const bool behind = GENERATE(false, true);
    world w;
    w.three_notes();
    w.block([&] { w.all.retire(w.state.get<note>(id<note>(2))); });
    w.state.commit(w.state.revision());
    w.block([&] { w.all.remove(second); }); // which has no row yet
    if (behind) CHECK(w.hand_over_behind(1) == 0);
    CHECK(w.hand_over() == 1); // the one that was retired after it
    while (w.state.revision() > w.state.committed_revision())
        w.state.undo();
    CHECK(w.all.waiting() == 2);
    CHECK(w.hand_over_behind(1) == 2);
    CHECK(w.in_store(1));
    CHECK(w.all.archived() == 2);
    CHECK(w.all.find(second)->get<&note::weight>() == 20);
}

TEST_CASE("an object that is removed while its row is being written") {
    const bool again = GENERATE(false, true);
    world w;
    w.three_notes();
    CHECK(w.hand_over_behind(1) == 0); // gives the row to the thread
    if (again) {
        CHECK(w.hand_over() == 1);
        w.state.undo(); // is in both places
    }
    const std::string before = digest_of(w.all);
    w.block([&] { w.all.remove(second); });
    CHECK(w.in_store(1));
    CHECK_FALSE(w.all.find(second));
    CHECK_FALSE(w.all.find<by_title>("alice", "two"));
    CHECK(w.all.waiting() == 0);
    CHECK(w.all.archived() == 0);
    w.block([&] { write(w.state, "alice", "two", 70); });
    CHECK(w.all.find<by_title>("alice", "two")->in_memory());
    w.state.undo();
    w.state.undo();
    CHECK(digest_of(w.all) == before);
    CHECK(w.all.find(second)->in_memory());
}

TEST_CASE("removing one whose row is being written waits for that") {
    auto store = std::make_unique<latched_store>();
    latched_store& disk = *store;
    world w(std::move(store));
    w.three_notes();
    CHECK(w.hand_over_behind(1) == 0);
    std::thread opener([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        disk.open();
    });
    w.block([&] { w.all.remove(second); });
    opener.join();
    CHECK(w.in_store(1));
    CHECK_FALSE(w.all.find(second));
    CHECK(w.all.archived() == 0);
}

TEST_CASE("one whose row is from before a restart is removed, and its row is counted") {
    const temporary_folder folder;
    const auto open_and = [&](auto work) {
        database state(folder / "state", small_state());
        const auto rows = archive::open_store(folder / "rows");
        state.add_type<note>("note");
        notes all(state, *rows, "note");
        work(state, *rows, all);
    };
    open_and([](database& state, archive::store&, notes& all) {
        session one = state.start_session();
        all.retire(write(state, "alice", "two", 20));
        one.push();
        state.commit(state.revision());
        session two = state.start_session();
        CHECK(all.hand_over(state.committed_revision()) == 1);
        two.push();
        state.undo();
    });
    open_and([](database& state, archive::store& rows, notes& all) {
        CHECK(all.find(id<note>(0))->in_memory());
        all.remove(id<note>(0));
        CHECK_FALSE(all.find<by_title>("alice", "two"));
        all.retire(write(state, "alice", "two", 70));
        CHECK(all.hand_over(state.committed_revision()) == 1);
        CHECK(all.find<by_title>("alice", "two")->get<&note::weight>() == 70);
        CHECK(rows.count(archive::table_id{0}) == 2);
    });
    open_and([](database& state, archive::store& rows, notes& all) {
        CHECK(all.archived() == 1);
        CHECK(all.find<by_title>("alice", "two")->id().value == 1);
        all.retire(write(state, "bob", "two", 1));
        CHECK(all.hand_over(state.committed_revision()) == 1);
        CHECK(rows.stats().rows_put == 1);
    });
}

TEST_CASE("one that may have a row is not removed while the store cannot be read") {
    world w(std::make_unique<fragile_store>());
    w.three_notes();
    CHECK(w.hand_over_behind(1) == 0);
    CHECK_THROWS_AS(w.block([&] { w.all.remove(second); }), io_error); // what the thread met
    CHECK_THROWS_AS(w.block([&] { w.all.remove(second); }), io_error); // and what this met
    CHECK(w.all.find(second)->in_memory());
    CHECK(w.all.is_retired(second));
}

TEST_CASE("what is not there is not removed") {
    archived_world w;
    w.remove_second();
    const auto removing = [&](std::uint32_t number) {
        return [&w, number] { w.block([&] { w.all.remove(id<note>(number)); }); };
    };
    CHECK_THROWS_WITH(removing(1)(), "note 1: cannot be removed: there is none");
    CHECK_THROWS_AS(removing(99)(), usage_error);
    w.block([&] { w.all.remove(id<note>(0)); }); // that nothing is special about
    CHECK_THROWS_AS(removing(0)(), usage_error);
    CHECK(w.all.in_memory() == 1);
}

TEST_CASE("what took the key of an archived object past the life cycle is refused its row") {
    archived_world w;
    w.block([&] { w.all.retire(write(w.state, "alice", "two", 70)); });
    w.state.commit(w.state.revision());
    CHECK_THROWS_WITH(w.hand_over(), Catch::Contains("is that of note 1 in the archive"));
    CHECK_FALSE(w.in_store(3));
    CHECK(w.all.waiting() == 1);
    w.remove_second();
    w.state.commit(w.state.revision());
    CHECK(w.hand_over() == 1);
    CHECK(w.weight_of_second() == 70);
}
