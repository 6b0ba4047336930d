// The life cycle of objects: retired, handed over, found in both places; two types in one archive.

#include <archive/open_archive.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/note.hpp>
#include <tests/archive/world.hpp>
#include <tests/support/scratch_state.hpp>

#include <vector>

/// Objects move from memory to the archive, and back when a block is popped.
using namespace chainbase;
using namespace chainbase::test;

namespace {

template <typename E, typename Action>
std::string message_of(Action action) {
    try {
        action();
    } catch (const E& thrown) {
        return thrown.what();
    }
    return "nothing thrown";
}

} // namespace

TEST_CASE("an object is found in memory, and then in the archive") {
    note_world w;
    w.three_notes();
    REQUIRE(w.all.find(id<note>(1))->in_memory());
    REQUIRE(w.all.find<by_title>("alice", "two")->in_memory());
    REQUIRE(w.hand_over() == 1);
    CHECK(w.state.find(id<note>(1)) == nullptr);
    CHECK(w.all.in_memory() == 2);
    CHECK(w.all.waiting() == 0);
    CHECK(w.all.archived() == 1);
    for (const auto& row : {w.all.find(id<note>(1)), w.all.find<by_title>("alice", "two"),
                            w.all.find<by_weight>(20, id<note>(1))}) {
        REQUIRE(row);
        CHECK_FALSE(row->in_memory());
        CHECK(row->object() == nullptr);
        CHECK(row->id() == id<note>(1));
        CHECK(row->get<&note::title>() == "two");
        CHECK(row->get<&note::author>() == "alice");
        CHECK(row->get<&note::weight>() == 20);
        CHECK(row->get<&note::marks>()[1] == 20);
        CHECK(row->copy().title.view() == "two");
    }
    CHECK(w.all.find(id<note>(0))->get<&note::marks>()[0] == 7);
    CHECK(w.all.find(id<note>(2))->get<&note::title>() == "one");
    CHECK_FALSE(w.all.find(id<note>(3)));
    CHECK_FALSE(w.all.find<by_title>("bob", "two"));
}

TEST_CASE("where a lookup ended is counted") {
    note_world w;
    w.three_notes();
    w.hand_over();
    (void)w.all.find(id<note>(0));
    (void)w.all.find<by_title>("bob", "one");
    (void)w.all.find(id<note>(1));
    (void)w.all.find<by_title>("carol", "one");
    using archive::lookup;
    CHECK(w.rows->stats().lookups(lookup::hit_in_memory).count() == 2);
    CHECK(w.rows->stats().lookups(lookup::hit_in_archive).count() == 1);
    CHECK(w.rows->stats().lookups(lookup::miss).count() == 0);
    CHECK(w.rows->stats().lookups(lookup::known_miss).count() == 1);
}

TEST_CASE("what can still be undone is not handed over") {
    note_world w;
    w.block([&] { write(w.state, "alice", "one"); });
    w.block([&] { w.all.retire(w.state.get<note>(id<note>(0))); });
    CHECK_THROWS_AS(w.all.hand_over(2), usage_error);
    w.state.commit(1);
    CHECK(w.hand_over() == 0);
    CHECK_FALSE(w.in_store(0));
    w.state.commit(2);
    CHECK(w.hand_over() == 1);
    CHECK(w.in_store(0));
}

TEST_CASE("popping the block that retired an object makes it live again") {
    note_world w;
    w.block([&] { write(w.state, "alice", "one"); });
    w.block([&] { w.all.retire(w.state.get<note>(id<note>(0))); });
    const note& one = w.state.get<note>(id<note>(0));
    CHECK(w.all.is_retired(one.id));
    w.state.undo();
    CHECK_FALSE(w.all.is_retired(one.id));
    CHECK(w.all.waiting() == 0);
    w.all.modify(one, [](note& n) { n.weight = 5; });
    CHECK(one.weight == 5);
}

TEST_CASE("popping the block that handed an object over brings it back") {
    note_world w;
    w.three_notes();
    const std::string before = digest_of(w.all);
    REQUIRE(w.hand_over() == 1);
    CHECK(digest_of(w.all) == before);
    w.state.undo();
    CHECK(w.in_store(1));
    CHECK(w.all.find(id<note>(1))->in_memory());
    CHECK(w.all.waiting() == 1);
    CHECK(w.all.archived() == 0);
    CHECK(digest_of(w.all) == before);
    REQUIRE(w.hand_over() == 1);
    CHECK(w.all.archived() == 1);
    CHECK(w.rows->count(archive::table_id{0}) == 1);
    CHECK(digest_of(w.all) == before);
}

TEST_CASE("the digest takes memory before the archive, and depends on every object") {
    note_world w;
    w.three_notes();
    w.hand_over();
    const std::string archived = digest_of(w.all);
    w.state.undo(); // object 1 is in both places now; a digest must ignore its row
    archive::write_batch wrong;
    wrong.put(archive::table_id{0}, 1, archive::as_bytes("no record at all"));
    w.rows->write(wrong);
    CHECK(digest_of(w.all) == archived);
    w.block([&] { w.all.modify(w.state.get<note>(id<note>(2)), [](note& n) { n.weight = 31; }); });
    CHECK(digest_of(w.all) != archived);
    w.state.undo();
    CHECK(digest_of(w.all) == archived);
}

TEST_CASE("every lookup in memory is counted, also those that no clock was read for") {
    note_world w;
    w.three_notes();
    for (int n = 0; n < 1000; ++n)
        (void)w.all.find(id<note>(0));
    const archive::times_summary hits = w.rows->stats().summarized().hits_in_memory;
    CHECK(hits.count == 1000);
    CHECK(hits.measured < 100);
    CHECK(hits.measured >= 1000 / 128);
    CHECK(hits.total_ns >= hits.p50_ns * 10);
}

TEST_CASE("a retired object is not modified") {
    note_world w;
    w.three_notes();
    const note& retired = w.state.get<note>(id<note>(1));
    const auto change = [](note& n) { n.weight = 99; };
    CHECK_THROWS_AS(w.all.modify(retired, change), usage_error);
    CHECK(retired.weight == 20);
    CHECK_THROWS_AS(w.all.retire(retired), usage_error);
    w.state.modify(retired, change); // without the life cycle
    CHECK(message_of<usage_error>([&] { w.hand_over(); }) ==
          "note 1: was changed after it was retired; nothing was written. Change objects of this "
          "type through its life cycle");
    CHECK_FALSE(w.in_store(1));
    CHECK(w.state.find(id<note>(1)) == &retired);
}

TEST_CASE("only an object of the state is retired") {
    note_world w;
    w.three_notes();
    const note copy = w.state.get<note>(id<note>(0));
    CHECK_THROWS_AS(w.all.retire(copy), usage_error);
    w.state.remove(w.state.get<note>(id<note>(1))); // a retired one, without the life cycle
    CHECK_THROWS_AS(w.hand_over(), usage_error);
}

TEST_CASE("the oldest retired objects leave first, a limited number at a time") {
    note_world w;
    w.block([&] {
        for (int i = 0; i < 10; ++i)
            write(w.state, "alice", std::to_string(i));
    });
    for (std::uint32_t i : {4, 2, 9, 7})
        w.block([&] { w.all.retire(w.state.get<note>(id<note>(i))); });
    w.state.commit(w.state.revision() - 1); // 7 can still be undone
    w.block([&] { CHECK(w.all.hand_over(w.state.committed_revision(), 2) == 2); });
    CHECK_FALSE(w.all.find(id<note>(4))->in_memory());
    CHECK_FALSE(w.all.find(id<note>(2))->in_memory());
    CHECK(w.all.find(id<note>(9))->in_memory());
    w.block([&] { CHECK(w.all.hand_over(w.state.committed_revision(), 2) == 1); });
    CHECK(w.all.waiting() == 1);
    CHECK(w.all.archived() == 3);
}

TEST_CASE("all objects of both places are visited once, by rising id") {
    note_world w;
    w.block([&] {
        for (int i = 0; i < 10; ++i)
            write(w.state, "alice", std::to_string(i));
        for (std::uint32_t i : {0, 3, 4, 9})
            w.all.retire(w.state.get<note>(id<note>(i)));
    });
    w.state.commit(w.state.revision());
    w.hand_over();
    std::vector<std::uint32_t> numbers;
    std::vector<bool> kept;
    w.all.for_each([&](const archive::found<note>& one) {
        CHECK(one.get<&note::title>() == std::to_string(one.id().value));
        numbers.push_back(one.id().value);
        kept.push_back(one.in_memory());
    });
    CHECK(numbers == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    CHECK(kept ==
          std::vector<bool>{false, true, true, false, false, true, true, true, true, false});
}

TEST_CASE("an archive that is ahead of the state tells nothing of what is to come") {
    note_world ahead;
    ahead.three_notes();
    ahead.block([&] { ahead.all.retire(ahead.state.get<note>(id<note>(2))); });
    ahead.state.commit(ahead.state.revision());
    ahead.hand_over();
    const std::string digest = digest_of(ahead.all);

    note_world behind(std::move(ahead.rows));
    CHECK_FALSE(behind.all.find(id<note>(1)));
    CHECK_FALSE(behind.all.find<by_title>("alice", "two"));
    CHECK(digest_of(behind.all) != digest);
    behind.three_notes();
    CHECK(behind.all.find(id<note>(1))->in_memory());
    behind.hand_over();
    behind.block([&] { behind.all.retire(behind.state.get<note>(id<note>(2))); });
    behind.state.commit(behind.state.revision());
    CHECK(behind.hand_over() == 1);
    CHECK(digest_of(behind.all) == digest);
}

TEST_CASE("a key that the state's object does not have yet leads to no row") {
    note_world ahead;
    ahead.block([&] {
        const note& renamed = write(ahead.state, "alice", "one");
        ahead.state.modify(renamed, [](note& one) { one.title = "later"; });
        ahead.all.retire(renamed);
    });
    ahead.state.commit(ahead.state.revision());
    ahead.hand_over();
    REQUIRE(ahead.all.find<by_title>("alice", "later"));

    note_world behind(std::move(ahead.rows));
    behind.block([&] { write(behind.state, "alice", "one"); });
    CHECK(behind.all.find<by_title>("alice", "one")->in_memory());
    CHECK_FALSE(behind.all.find<by_title>("alice", "later"));
    CHECK_FALSE(behind.all.find<by_title>("a name of more than sixteen bytes", "later"));
}

TEST_CASE("an archive that was lost is noticed when it is opened") {
    const scratch_folder folder;
    const auto open_and = [&](auto work) {
        database state(folder / "state", small_state());
        state.add_type<note>("note");
        const auto rows = archive::open_store(folder / "state/archive");
        notes all(state, *rows, "note");
        work(state, all);
    };
    open_and([](database& state, notes& all) {
        all.retire(write(state, "alice", "one"));
        all.retire(write(state, "alice", "two"));
        REQUIRE(all.hand_over(state.committed_revision()) == 2);
    });
    open_and([](database&, notes& all) { CHECK(all.archived() == 2); });
    std::filesystem::remove_all(folder / "state/archive");
    const std::string said = message_of<damaged_error>([&] { open_and([](database&, notes&) {}); });
    CHECK_THAT(said, Catch::Contains("archive") && Catch::Contains("0 rows") &&
                         Catch::Contains("handed over 2"));
}

TEST_CASE("a store that fails never means that an object is not there") {
    auto store = std::make_unique<fragile_store>();
    fragile_store& disk = *store;
    note_world w(std::move(store));
    w.three_notes();
    CHECK_THROWS_AS(w.hand_over(), io_error);
    CHECK(w.all.find(id<note>(1))->in_memory());
    CHECK(w.all.waiting() == 1);
    CHECK_FALSE(w.all.find(id<note>(7))); // the state never assigned that id
    disk.plug_in();
    CHECK(w.hand_over() == 1);
    disk.unplug();
    CHECK_THROWS_AS(w.all.find(id<note>(1)), io_error);
    CHECK_THROWS_AS(w.all.find<by_title>("alice", "two"), io_error);
}

TEST_CASE("keys that no object in the archive has are known without a look into it") {
    auto store = std::make_unique<fragile_store>();
    fragile_store& disk = *store;
    note_world w(std::move(store));
    disk.plug_in();
    w.three_notes();
    w.hand_over();
    disk.unplug();
    int looks = 0;
    for (int n = 0; n < 1000; ++n)
        try {
            CHECK_FALSE(w.all.find<by_title>("carol", std::to_string(n)));
        } catch (const io_error&) {
            ++looks;
        }
    CHECK(looks < 20);
    CHECK(w.rows->stats().lookups(archive::lookup::known_miss).count() >= 980);
}

TEST_CASE("the digest does not depend on the order in which types are added") {
    note_world w;
    w.three_notes();
    archive::state_digest a, b;
    a.add(w.all);
    a.add<note>(w.state, "other");
    b.add<note>(w.state, "other");
    b.add(w.all);
    CHECK(a.hex() == b.hex());
    CHECK(a.hex().size() == 64);
    CHECK(a.hex("note") == a.hex("other"));
    CHECK_THROWS_AS(a.add(w.all), usage_error);
}

TEST_CASE("an archive that was opened for reading and then left behind never says not found") {
    const scratch_folder folder;
    const auto write_one = [&](const char* title) {
        database state(folder / "state", small_state());
        const auto rows = archive::open_store(folder / "rows");
        state.add_type<note>("note");
        notes all(state, *rows, "note");
        all.retire(write(state, "alice", title));
        REQUIRE(all.hand_over(state.committed_revision()) == 1);
        rows->flush();
    };
    write_one("one");
    archive::store_options reading;
    reading.read_only = true;
    const auto before = archive::open_store(folder / "rows", reading);
    write_one("two");
    const auto after = archive::open_store(folder / "rows", reading);

    open_options looking = small_state();
    looking.mode = open_mode::read_only;
    database state(folder / "state", looking);
    state.add_type<note>("note");
    {
        const notes all(state, *before, "note");
        CHECK(all.find<by_title>("alice", "one"));
        CHECK_FALSE(all.find<by_title>("alice", "three")); // decided by the state
        CHECK_THROWS_WITH(all.find(id<note>(1)), Catch::Contains("with 1 rows") &&
                                                     Catch::Contains("handed over 2") &&
                                                     Catch::Contains("open the archive again"));
        CHECK_THROWS_AS(all.find<by_title>("alice", "two"), usage_error);
        CHECK_THROWS_AS(all.range<by_author>("alice"), usage_error);
        CHECK_THROWS_AS(all.for_each([](const archive::found<note>&) {}), usage_error);
    }
    CHECK(after->count(archive::table_id{0}) == 2);
}

/// Two types in one archive, whose objects have equal ids and equal keys.
using namespace chainbase;
using namespace chainbase::test;

namespace {

struct by_name;

/// Its key has the same bytes as a note's.
struct memo {
    chainbase::id<memo> id;
    fixed_string<16> author;
    shared_string title;
    std::uint32_t pages = 0;

    using keys = chainbase::keys<ordered_unique<by_name, &memo::author, &memo::title>>;
    using archived_by = archive::tags<by_name>;
};
BOOST_DESCRIBE_STRUCT(memo, (), (id, author, title, pages))

constexpr int of_each = 20;

struct both {
    database state;
    std::unique_ptr<archive::store> rows;
    notes all_notes;
    archive::lifecycle<memo> all_memos;

    both(const std::filesystem::path& folder, archive::store_kind kind)
        : state(folder, small_state()),
          rows(archive::open_archive(state, folder / "archive", kind)),
          all_notes((state.add_type<note>("note"), state), *rows, "note"),
          all_memos((state.add_type<memo>("memo"), state), *rows, "memo") {}
};

const memo& write_memo(database& state, const std::string& title, std::uint32_t pages) {
    return state.create<memo>([&](memo& one) {
        one.author = "alice";
        one.title = title;
        one.pages = pages;
    });
}

} // namespace

TEST_CASE("two types whose objects have equal ids and keys do not meet") {
    const auto kind = GENERATE(archive::store_kind::rocksdb, archive::store_kind::memory);
    const scratch_folder folder;
    {
        both made(folder / "state", kind);
        for (int n = 0; n < of_each; ++n) {
            made.all_notes.retire(write(made.state, "alice", std::to_string(n), n));
            made.all_memos.retire(
                write_memo(made.state, std::to_string(n), static_cast<std::uint32_t>(1000 + n)));
        }
        const revision_number now = made.state.committed_revision();
        CHECK(made.all_notes.hand_over(now) == of_each);
        CHECK(made.all_memos.hand_over(now, of_each / 2) == of_each / 2);
        made.rows->sync();
        made.state.close();
    }
    both opened(folder / "state", kind);
    opened.all_notes.remove(id<note>(3));
    for (int n = 0; n < of_each; ++n) {
        const auto as_note = opened.all_notes.find<by_title>("alice", std::to_string(n));
        const auto as_memo = opened.all_memos.find<by_name>("alice", std::to_string(n));
        CHECK(as_note.has_value() == (n != 3));
        if (as_note) CHECK(as_note->get<&note::weight>() == n);
        REQUIRE(as_memo);
        CHECK(as_memo->get<&memo::pages>() == static_cast<std::uint32_t>(1000 + n));
        CHECK(as_memo->in_memory() == (n >= of_each / 2));
    }
    CHECK_THROWS_AS(opened.all_memos.create([](memo& one) {
        one.author = "alice";
        one.title = "3";
    }),
                    duplicate_key_error);
    CHECK_NOTHROW(opened.all_notes.create([](note& one) {
        one.author = "alice";
        one.title = "3";
    }));
}
