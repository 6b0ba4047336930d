// Objects in memory and rows in the archive as one set, including removals and reused keys.

#include <archive/open_archive.hpp>

#include <catch2/catch.hpp>
#include <tests/archive/note.hpp>
#include <tests/archive/stores.hpp>
#include <tests/archive/world.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/seeded.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

// Objects that are in memory, in the archive, in both, or removed, against a naive model: lookups,
// ranges, and lookups of reused keys.

namespace {

struct known {
    std::string author;
    std::string title;
    std::int64_t weight = 0;
    bool is_retired = false;
};
using model = std::map<std::uint32_t, known>;

std::string author_of(random_source& random) {
    static const std::vector<std::string> names{"a", "al", "alice", "bob", "bo"};
    return names[random.below(static_cast<std::uint32_t>(names.size()))];
}

std::string title_of(random_source& random) {
    return std::to_string(random.below(40));
}

const std::pair<const std::uint32_t, known>* find_in(const model& all, const std::string& author,
                                                     const std::string& title) {
    const auto found = std::ranges::find_if(all, [&](const auto& one) {
        return one.second.author == author && one.second.title == title;
    });
    return found == all.end() ? nullptr : &*found;
}

/// Makes, changes, retires, hands over, removes and pops objects, and keeps what lookups must find.
class walk {
public:
    walk(std::uint64_t seed, archive::store_kind kind) : kind_(kind), random_(seed) { open(); }

    void step() {
        if (random_.chance(20)) {
            close();
            open();
        }
        if (random_.chance(150) && blocks_.size() > 1) {
            state_->undo();
            now_ = std::move(blocks_.back());
            blocks_.pop_back();
        } else {
            const model before = now_;
            session block = state_->start_session();
            for (std::uint32_t left = random_.below(6); left > 0; --left)
                random_.chance(200) ? change_in_nested_session() : change();
            if (random_.chance(400)) all_->hand_over(state_->committed_revision(), 3);
            if (random_.chance(300)) (void)all_->hand_over_behind(state_->committed_revision(), 2);
            block.push();
            blocks_.push_back(before);
        }
        if (random_.chance(300)) commit();
    }
    void compare() {
        compare_lookups();
        std::vector<std::uint32_t> expected;
        for (const auto& [id, one] : now_)
            expected.push_back(id);
        std::ranges::sort(expected, [&](std::uint32_t a, std::uint32_t b) {
            return std::pair(-now_.at(a).weight, a) < std::pair(-now_.at(b).weight, b);
        });
        REQUIRE(ids_of(all_->range<by_weight>()) == expected);
        const std::int64_t weight = random_.below(60);
        std::erase_if(expected, [&](std::uint32_t id) { return now_.at(id).weight > weight; });
        REQUIRE(ids_of(all_->from<by_weight>(weight)) == expected);
        std::erase_if(expected, [&](std::uint32_t id) { return now_.at(id).weight != weight; });
        REQUIRE(ids_of(all_->range<by_weight>(weight)) == expected);
        compare_author(author_of(random_));
    }
    [[nodiscard]] std::uint64_t archived() const { return all_->archived(); }
    [[nodiscard]] std::uint64_t in_both() const {
        std::uint64_t both = 0;
        for (auto row = rows_->rows({0}); row.valid(); row.next())
            both += state_->find(id<note>(row.id())) ? 1 : 0;
        return both;
    }

private:
    void open() {
        state_.emplace(folder_ / "state", small_state());
        rows_ = archive::open_archive(*state_, folder_ / "archive", kind_);
        state_->add_type<note>("note");
        all_.emplace(*state_, *rows_, "note");
    }
    void close() {
        all_.reset();
        rows_.reset();
        state_.reset();
    }
    void change_in_nested_session() {
        const model before = now_;
        session inner = state_->start_session();
        change();
        if (random_.chance(300)) {
            inner.undo();
            now_ = before;
        } else {
            inner.squash();
        }
    }
    void create() {
        const known one{author_of(random_), title_of(random_), random_.below(60)};
        const auto make = [&]() -> const note& {
            return all_->create([&](note& made) {
                made.author = std::string_view(one.author);
                made.title = one.title;
                made.weight = one.weight;
            });
        };
        if (find_in(now_, one.author, one.title))
            REQUIRE_THROWS_AS(make(), duplicate_key_error);
        else
            now_[make().id.value] = one;
    }
    void change() {
        if (now_.empty() || random_.chance(400)) return create();
        const auto at =
            std::next(now_.begin(), random_.below(static_cast<std::uint32_t>(now_.size())));
        if (random_.chance(150)) {
            all_->remove(id<note>(at->first));
            now_.erase(at);
            return;
        }
        const note* object = state_->find(id<note>(at->first));
        if (object == nullptr || at->second.is_retired) return;
        if (random_.chance(500)) {
            all_->retire(*object);
            at->second.is_retired = true;
        } else {
            const std::string author = author_of(random_);
            if (find_in(now_, author, at->second.title)) return;
            at->second.author = author;
            at->second.weight = random_.below(60);
            all_->modify(*object, [&](note& one) {
                one.author = std::string_view(at->second.author);
                one.weight = at->second.weight;
            });
        }
    }
    void commit() {
        const std::size_t kept = std::min<std::size_t>(blocks_.size(), random_.below(4));
        state_->commit(state_->revision() - static_cast<revision_number>(kept));
        blocks_.erase(blocks_.begin(), blocks_.end() - static_cast<std::ptrdiff_t>(kept));
    }
    void compare_lookups() {
        for (int n = 0; n < 5; ++n) {
            const std::string author = author_of(random_);
            const std::string title = title_of(random_);
            const auto* const expected = find_in(now_, author, title);
            const auto found = all_->find<by_title>(author, title);
            REQUIRE(found.has_value() == (expected != nullptr));
            if (found) REQUIRE(found->id().value == expected->first);
            const std::uint32_t number = random_.below(state_->next_id<note>().value + 1);
            REQUIRE(all_->find(id<note>(number)).has_value() == now_.contains(number));
        }
        REQUIRE(all_->in_memory() + all_->archived() == now_.size());
        std::vector<std::uint32_t> visited;
        all_->for_each([&](const archive::found<note>& one) { visited.push_back(one.id().value); });
        REQUIRE(std::ranges::equal(visited, now_ | std::views::keys));
    }
    void compare_author(const std::string& author) {
        std::vector<std::uint32_t> expected;
        for (const auto& [id, one] : now_)
            if (one.author == author) expected.push_back(id);
        std::vector<std::uint32_t> found = ids_of(all_->range<by_author>(author));
        std::ranges::sort(found); // equal keys are unordered between memory and archive
        REQUIRE(found == expected);
        std::string last;
        for (auto at = all_->from<by_author>(author); at.valid(); at.next()) {
            const std::string one(at->get<&note::author>());
            REQUIRE((one >= author && one >= last));
            last = one;
        }
    }
    template <typename Cursor>
    [[nodiscard]] std::vector<std::uint32_t> ids_of(Cursor at) const {
        std::vector<std::uint32_t> ids;
        for (; at.valid(); at.next()) {
            ids.push_back(at->id().value);
            REQUIRE(at->template get<&note::weight>() == now_.at(ids.back()).weight);
            REQUIRE(at->in_memory() == (state_->find(at->id()) != nullptr));
        }
        return ids;
    }

    scratch_folder folder_;
    archive::store_kind kind_;
    std::optional<database> state_;
    std::unique_ptr<archive::store> rows_;
    std::optional<notes> all_;
    random_source random_;
    model now_;
    std::vector<model> blocks_; ///< at the begin of each block that can be popped
};

} // namespace

TEST_CASE_METHOD(seeded, "both places together are as if there were one") {
    const auto kind = GENERATE(archive::store_kind::memory, archive::store_kind::rocksdb,
                               archive::store_kind::none);
    walk one(seed, kind);
    std::uint64_t both = 0;
    for (std::uint64_t step = 0; step < short_test_operations(1500); ++step) {
        one.step();
        if (step % 4 == 0) one.compare();
        both += one.in_both() > 0 ? 1 : 0;
    }
    CHECK((one.archived() > 30) == (kind != archive::store_kind::none));
    CHECK((both > 10) == (kind == archive::store_kind::rocksdb));
}

TEST_CASE("a range that cannot be read throws and does not end early") {
    scratch_folder folder;
    database state(folder / "state", small_state());
    state.add_type<note>("note");
    const auto rows = std::make_unique<heap_store>();
    notes all(state, *rows, "note");
    session one = state.start_session();
    for (int i = 0; i < 3; ++i)
        all.retire(write(state, "alice", std::to_string(i), i));
    one.push();
    state.commit(state.revision());
    session two = state.start_session();
    REQUIRE(all.hand_over(state.committed_revision()) == 3);
    two.push();
    archive::write_batch wrong;
    wrong.put({0}, 1, archive::as_bytes("no record at all"),
              std::vector<archive::secondary_key>{
                  {1, archive::make_key(archive::descending(std::int64_t{1}), std::uint32_t{1})}});
    rows->write(wrong);
    auto at = all.range<by_weight>();
    REQUIRE(at.valid());
    CHECK(at->id() == id<note>(2));
    CHECK_THROWS_AS(at.next(), error);
}

/// Finished objects are removed in any place, and others reuse their keys.
using namespace chainbase;
using namespace chainbase::test;

namespace {

constexpr id<note> second(1);

/// Three notes, of which the second one ("alice", "two") is in the archive.
struct archived_world : note_world {
    explicit archived_world(std::unique_ptr<archive::store> store = std::make_unique<heap_store>())
        : note_world(std::move(store)) {
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
    CHECK(w.in_store(1)); // for earlier states
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
    CHECK_THROWS_WITH(
        w.write_again(70),
        Catch::Contains("note: by_title = ") && Catch::Contains("alice") &&
            Catch::Contains("is taken by note 1 in the archive, so 3 cannot have it"));
    CHECK_THROWS_AS(w.write_again(70), duplicate_key_error);
    CHECK(w.all.in_memory() == 2);
    CHECK(digest_of(w.all) == before); // no id is used up either
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
    const scratch_folder folder;
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
    note_world w;
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
    note_world w;
    w.three_notes();
    w.block([&] { w.all.retire(w.state.get<note>(id<note>(2))); });
    w.state.commit(w.state.revision());
    w.block([&] { w.all.remove(second); }); // not archived yet
    if (behind) CHECK(w.hand_over_behind(1) == 0);
    CHECK(w.hand_over() == 1); // the one retired after it
    while (w.state.revision() > w.state.committed_revision())
        w.state.undo();
    CHECK(w.all.waiting() == 2);
    CHECK(w.hand_over_behind(1) == 2);
    CHECK(w.in_store(1));
    CHECK(w.all.archived() == 2);
    CHECK(w.all.find(second)->get<&note::weight>() == 20);
}

TEST_CASE("a removal that is popped before its object is written is no reason to write it twice") {
    const bool behind = GENERATE(false, true);
    note_world w;
    w.three_notes();
    w.block([&] { w.all.remove(second); });
    w.state.undo();
    if (behind) CHECK(w.hand_over_behind(1) == 0);
    CHECK(w.hand_over() == 1);
    w.state.undo();
    CHECK(w.hand_over() == 1);
    CHECK(w.rows->stats().batches.count() == 1);
    CHECK(w.rows->count(archive::table_id{0}) == 1);
}

TEST_CASE("an object that is removed while its row is being written") {
    const bool again = GENERATE(false, true);
    note_world w;
    w.three_notes();
    CHECK(w.hand_over_behind(1) == 0); // passes the row to the thread
    if (again) {
        CHECK(w.hand_over() == 1);
        w.state.undo(); // it is in both places
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
    note_world w(std::move(store));
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

namespace {

/// Note 0 was handed over in the last block of an earlier process.
struct handed_over_before {
    handed_over_before() {
        open_and([](database& state, archive::store&, notes& all) {
            session one = state.start_session();
            all.retire(write(state, "alice", "two", 20));
            one.push();
            state.commit(state.revision());
            session two = state.start_session();
            CHECK(all.hand_over(state.committed_revision()) == 1);
            two.push();
        });
    }
    template <typename Work>
    void open_and(Work work) {
        database state(folder_ / "state", small_state());
        const auto rows = archive::open_store(folder_ / "rows");
        state.add_type<note>("note");
        notes all(state, *rows, "note");
        work(state, *rows, all);
    }

private:
    scratch_folder folder_;
};

} // namespace

TEST_CASE_METHOD(handed_over_before,
                 "one whose row is from before a restart is removed, and its row is counted") {
    open_and([](database& state, archive::store&, notes&) { state.undo(); });
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

TEST_CASE_METHOD(handed_over_before,
                 "what an earlier process handed over, and this one pops, is not counted twice") {
    open_and([](database& state, archive::store& rows, notes& all) {
        state.undo();
        CHECK(all.find(id<note>(0))->in_memory());
        CHECK(all.hand_over(state.committed_revision()) == 1);
        CHECK(rows.count(archive::table_id{0}) == 1);
    });
}

TEST_CASE("one that may have a row is not removed while the store cannot be read") {
    note_world w(std::make_unique<fragile_store>());
    w.three_notes();
    CHECK(w.hand_over_behind(1) == 0);
    CHECK_THROWS_AS(w.block([&] { w.all.remove(second); }), io_error); // the thread's error
    CHECK_THROWS_AS(w.block([&] { w.all.remove(second); }), io_error); // and this call's error
    CHECK(w.all.find(second)->in_memory());
    CHECK(w.all.is_retired(second));
}

TEST_CASE("what is not there is not removed") {
    archived_world w;
    w.remove_second();
    const auto removing = [&](std::uint32_t number) {
        return [&w, number] { w.block([&] { w.all.remove(id<note>(number)); }); };
    };
    CHECK_THROWS_WITH(removing(1)(), "note 1: cannot be removed: it does not exist");
    CHECK_THROWS_AS(removing(99)(), usage_error);
    w.block([&] { w.all.remove(id<note>(0)); }); // an ordinary object
    CHECK_THROWS_AS(removing(0)(), usage_error);
    CHECK(w.all.in_memory() == 1);
}

TEST_CASE("what took the key of an archived object past the life cycle is refused its row") {
    archived_world w;
    w.block([&] { w.all.retire(write(w.state, "alice", "two", 70)); });
    w.state.commit(w.state.revision());
    CHECK_THROWS_WITH(w.hand_over(), Catch::Contains("is taken by note 1 in the archive"));
    CHECK_FALSE(w.in_store(3));
    CHECK(w.all.waiting() == 1);
    w.remove_second();
    w.state.commit(w.state.revision());
    CHECK(w.hand_over() == 1);
    CHECK(w.weight_of_second() == 70);
}
