#include <catch2/catch.hpp>
#include <tests/archive/heap_store.hpp>
#include <tests/archive/no_threads.hpp>
#include <tests/archive/note.hpp>
#include <tests/support/random_source.hpp>
#include <tests/tools/temporary_folder.hpp>
#include <tests/trace/found.hpp>

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

/// Objects on their way from memory to the archive, and back when a block is popped.
using namespace chainbase;
using namespace chainbase::test;

namespace {

/// A store whose disk is gone, at once or later.
class fragile_store final : public archive::store {
public:
    void plug_in() { plugged_in_ = true; }
    void unplug() { plugged_in_ = false; }
    [[nodiscard]] std::string name() const override { return "fragile store"; }
    [[nodiscard]] archive::store_kind kind() const noexcept override {
        return archive::store_kind::rocksdb;
    }
    [[nodiscard]] bool outlives_process() const noexcept override { return false; }

protected:
    void create_table(const archive::table_description&) override {}
    write_totals apply(const archive::write_batch&) override {
        if (!plugged_in_) fail();
        return {};
    }
    std::optional<archive::pinned_row> read(archive::table_id, std::uint32_t) const override {
        fail();
    }
    std::optional<archive::pinned_row> read(archive::table_id, std::uint32_t,
                                            archive::bytes_view) const override {
        fail();
    }
    std::uint64_t row_count(archive::table_id) const override { return 0; } // by heart
    std::unique_ptr<archive::row_cursor_source> scan(archive::table_id,
                                                     std::uint32_t) const override {
        fail();
    }
    std::unique_ptr<archive::key_cursor_source> scan(archive::table_id, std::uint32_t,
                                                     archive::bytes_view) const override {
        fail();
    }
    void make_durable(bool) override {}

private:
    [[noreturn]] static void fail() { throw io_error("fragile store: unplugged"); }

    bool plugged_in_ = false;
};

/// A store whose writes wait until it is opened.
class latched_store final : public archive::store {
public:
    [[nodiscard]] std::string name() const override { return "latched store"; }
    [[nodiscard]] archive::store_kind kind() const noexcept override {
        return archive::store_kind::rocksdb;
    }
    [[nodiscard]] bool outlives_process() const noexcept override { return false; }
    void open() {
        open_ = true;
        open_.notify_all();
    }

protected:
    void create_table(const archive::table_description& table) override {
        rows_->open_table(table.name, table.key_names);
    }
    write_totals apply(const archive::write_batch& batch) override {
        open_.wait(false);
        rows_->write(batch);
        return {};
    }
    std::optional<archive::pinned_row> read(archive::table_id table,
                                            std::uint32_t id) const override {
        return rows_->find(table, id);
    }
    std::optional<archive::pinned_row> read(archive::table_id table, std::uint32_t index,
                                            archive::bytes_view key) const override {
        return rows_->find(table, index, key);
    }
    std::uint64_t row_count(archive::table_id table) const override { return rows_->count(table); }
    std::unique_ptr<archive::row_cursor_source> scan(archive::table_id,
                                                     std::uint32_t) const override {
        throw usage_error("latched store: cannot be walked");
    }
    std::unique_ptr<archive::key_cursor_source> scan(archive::table_id, std::uint32_t,
                                                     archive::bytes_view) const override {
        throw usage_error("latched store: cannot be walked");
    }
    void make_durable(bool) override {}

private:
    std::unique_ptr<archive::store> rows_ = std::make_unique<heap_store>();
    std::atomic<bool> open_{false};
};

struct world {
    temporary_folder folder;
    database state{folder / "state", small_state()};
    std::unique_ptr<archive::store> rows;
    notes all;

    explicit world(std::unique_ptr<archive::store> store = std::make_unique<heap_store>())
        : rows(std::move(store)), all((state.add_type<note>("note"), state), *rows, "note") {}

    template <typename Work>
    void block(Work work) {
        session one = state.start_session();
        work();
        one.push();
    }
    /// So many, each retired, every block irreversible.
    void retired_notes(int count) {
        block([&] {
            for (; count > 0; --count) {
                ++written_;
                all.retire(write(state, "alice", std::to_string(written_), written_));
            }
        });
        state.commit(state.revision());
    }
    /// What left memory.
    std::size_t hand_over_behind(std::size_t limit) {
        std::size_t left = 0;
        block([&] { left = all.hand_over_behind(state.committed_revision(), limit); });
        return left;
    }
    /// Three notes, the middle one retired, every block irreversible.
    void three_notes() {
        block([&] {
            write(state, "alice", "one", 10);
            write(state, "alice", "two", 20);
            write(state, "bob", "one", 30);
        });
        block([&] { all.retire(state.get<note>(id<note>(1))); });
        state.commit(state.revision());
    }
    std::size_t hand_over() {
        std::size_t moved = 0;
        block([&] { moved = all.hand_over(state.committed_revision()); });
        return moved;
    }
    [[nodiscard]] bool in_store(std::uint32_t number) const {
        return rows->contains(archive::table_id{0}, number);
    }

private:
    int written_ = 0;
};

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
    world w;
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
    world w;
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
    world w;
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
    world w;
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
    world w;
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
    world w;
    w.three_notes();
    w.hand_over();
    const std::string archived = digest_of(w.all);
    w.state.undo(); // object 1 is in both places now, with a row that a digest must not read
    archive::write_batch wrong;
    wrong.put(archive::table_id{0}, 1, archive::as_bytes("no record at all"));
    w.rows->write(wrong);
    CHECK(digest_of(w.all) == archived);
    w.block([&] { w.all.modify(w.state.get<note>(id<note>(2)), [](note& n) { n.weight = 31; }); });
    CHECK(digest_of(w.all) != archived);
    w.state.undo();
    CHECK(digest_of(w.all) == archived);
}

TEST_CASE("rows are written behind the caller's back, and objects leave when they are") {
    world w;
    std::size_t left = 0;
    w.block([&] {
        for (int n = 0; n < 9; ++n)
            w.all.retire(write(w.state, "alice", std::to_string(n), n));
    });
    w.state.commit(w.state.revision());
    CHECK(w.hand_over_behind(2) == 0);
    CHECK(w.all.in_memory() == 9);
    while (left < 8)
        left += w.hand_over_behind(2); // four times as many at most
    CHECK(left == 8);
    CHECK(w.hand_over_behind(2) == 0); // the last one is too few
    CHECK(w.all.in_memory() == 1);
    CHECK(w.hand_over() == 1);
    CHECK(w.all.archived() == 9);
    for (std::uint32_t n = 0; n < 9; ++n)
        CHECK(w.all.find<by_title>("alice", std::to_string(n))->get<&note::weight>() == n);
}

TEST_CASE("handing over at once finishes what is written behind, too") {
    world w;
    w.block([&] {
        for (int n = 0; n < 10; ++n)
            w.all.retire(write(w.state, "alice", std::to_string(n), n));
    });
    w.state.commit(w.state.revision());
    w.block([&] { (void)w.all.hand_over_behind(w.state.committed_revision(), 4); });
    w.block([&] { CHECK(w.all.hand_over(w.state.committed_revision()) == 10); });
    CHECK(w.all.archived() == 10);
}

TEST_CASE("what a pop brings back is not written once more") {
    world w;
    w.retired_notes(3);
    const bool behind = GENERATE(false, true);
    if (behind) CHECK(w.hand_over_behind(3) == 0);
    CHECK(w.hand_over() == 3);
    for (int again = 0; again < 3; ++again) {
        w.state.undo();
        CHECK(w.all.in_memory() == 3);
        CHECK(w.hand_over_behind(3) == 3); // at once: there is nothing to wait for
    }
    CHECK(w.rows->stats().batches.count() == 1);
    for (std::uint32_t n = 0; n < 3; ++n)
        CHECK_FALSE(w.all.find(id<note>(n))->in_memory());
}

TEST_CASE("what is written behind is popped and handed over like anything else") {
    const std::uint64_t seed = test_seed(12);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    world w;
    int written = 0;
    for (int step = 0; step < 600; ++step) {
        if (random.below(3) == 0 && w.state.revision() > w.state.committed_revision()) {
            w.state.undo();
            continue;
        }
        w.block([&] {
            const revision_number irreversible = w.state.committed_revision();
            if (random.below(8) == 0)
                w.all.hand_over(irreversible, random.below(5));
            else
                (void)w.all.hand_over_behind(irreversible, 1 + random.below(5));
            for (std::uint32_t n = random.below(4); n > 0; --n)
                w.all.retire(write(w.state, "alice", std::to_string(++written), 1));
        });
        if (random.below(2) == 0 && w.state.revision() > 2) w.state.commit(w.state.revision() - 2);
        const std::uint32_t given = w.state.next_id<note>().value;
        REQUIRE(w.all.in_memory() + w.all.archived() == given);
        for (std::uint32_t n = 0; n < given; ++n)
            REQUIRE(w.all.find(id<note>(n)));
    }
    w.state.commit(w.state.revision());
    w.all.hand_over(w.state.committed_revision());
    CHECK(w.all.in_memory() == 0);
    CHECK(w.all.archived() > 100);
}

TEST_CASE("nothing is waited for while rows are written, until too much waits") {
    const tracing on;
    auto store = std::make_unique<latched_store>();
    latched_store& latch = *store;
    world w(std::move(store));
    w.retired_notes(2);
    CHECK(w.hand_over_behind(2) == 0); // the write of these two does not end
    while (span_called("archive.write").in_flight == 0)
        std::this_thread::yield(); // of the other thread
    for (int more = 3; more <= 7; ++more) {
        w.retired_notes(1);
        CHECK(w.hand_over_behind(2) == 0);
        for (int n = 0; n < more; ++n)
            REQUIRE(w.all.find(id<note>(static_cast<std::uint32_t>(n)))->in_memory());
        CHECK(w.all.in_memory() == static_cast<std::size_t>(more));
    }
    w.retired_notes(1); // 8 wait now, four times as many as leave at once
    const std::uint64_t waits = span_called("archive.wait").count;
    std::atomic<bool> returned{false};
    bool waited = false;
    std::thread opener([&] {
        while (!waited && !returned)
            waited = span_called("archive.wait").in_flight == 1;
        latch.open();
    });
    CHECK(w.hand_over_behind(2) == 2);
    returned = true;
    opener.join();
    CHECK(waited);
    CHECK(span_called("archive.wait").count == waits + 1);
    CHECK(w.rows->stats().waits.count() == 1);
    CHECK(w.all.in_memory() == 6);
}

TEST_CASE("where no thread can be started nothing is lost, and nothing leaves twice") {
    world w;
    w.retired_notes(3);
    {
        const no_threads none;
        CHECK_THROWS_AS(w.hand_over_behind(2), limit_error);
    }
    CHECK(w.all.in_memory() == 3);
    CHECK(w.hand_over_behind(2) == 0);
    CHECK(w.hand_over() == 3);
    CHECK(w.all.archived() == 3);
    CHECK(w.all.find(id<note>(2))->get<&note::weight>() == 3);
}

TEST_CASE("what making rows takes is told apart from what leaving memory takes") {
    const tracing on;
    world w;
    w.retired_notes(2);
    const std::uint64_t encoded = span_called("archive.encode").count;
    const std::uint64_t left = span_called("archive.hand_over").count;
    CHECK(w.hand_over_behind(2) == 0);
    CHECK(span_called("archive.encode").count == encoded + 1);
    CHECK(span_called("archive.hand_over").count == left);
    CHECK(w.hand_over() == 2);
    CHECK(span_called("archive.encode").count == encoded + 1);
    CHECK(span_called("archive.hand_over").count == left + 1);
}

TEST_CASE("what handing over took is counted by its steps") {
    world w;
    w.retired_notes(3);
    CHECK(w.hand_over_behind(3) == 0);
    w.retired_notes(2);
    archive::statistics_summary now;
    for (now = w.rows->stats().summarized(); now.batches.count == 0;)
        now = w.rows->stats().summarized(); // the other thread writes
    now = w.rows->stats().summarized();     // what it counted before that, too
    CHECK(now.encodings.count == 1);
    CHECK(now.removals.count == 0);
    CHECK(now.objects_handed_over == 0);
    CHECK(now.largest_batch_rows == 3);
    CHECK(w.hand_over() == 5); // what was written, and the rest
    now = w.rows->stats().summarized();
    CHECK(now.encodings.count == 2);
    CHECK(now.batches.count == 2);
    CHECK(now.removals.count == 2);
    CHECK(now.objects_handed_over == 5);
    CHECK(now.rows_put == 5);
    CHECK(now.largest_batch_rows == 3);
    CHECK(now.record_bytes_put > 0);
    for (const archive::times_summary& step : {now.encodings, now.batches, now.removals}) {
        CHECK(step.total_ns > 0);
        CHECK(step.measured == step.count);
        CHECK(step.longest_ns >= step.p50_ns);
        CHECK(step.longest_ns <= step.total_ns);
    }
}

TEST_CASE("every lookup in memory is counted, also those that no clock was read for") {
    world w;
    w.three_notes();
    for (int n = 0; n < 1000; ++n)
        (void)w.all.find(id<note>(0));
    const archive::times_summary hits = w.rows->stats().summarized().hits_in_memory;
    CHECK(hits.count == 1000);
    CHECK(hits.measured < 100);
    CHECK(hits.measured >= 1000 / 128);
    CHECK(hits.total_ns >= hits.p50_ns * 10);
}

TEST_CASE("a write behind the caller's back that fails is thrown, and nothing is lost") {
    world w(std::make_unique<fragile_store>());
    w.block([&] { w.all.retire(write(w.state, "alice", "one")); });
    w.state.commit(w.state.revision());
    for (int again = 0; again < 3; ++again) {
        (void)w.all.hand_over_behind(w.state.committed_revision(), 1);
        CHECK_THROWS_AS(w.all.hand_over(w.state.committed_revision()), io_error);
        CHECK(w.all.in_memory() == 1);
        CHECK(w.all.find(id<note>(0)));
    }
}

TEST_CASE("a retired object is not modified") {
    world w;
    w.three_notes();
    const note& retired = w.state.get<note>(id<note>(1));
    const auto change = [](note& n) { n.weight = 99; };
    CHECK_THROWS_AS(w.all.modify(retired, change), usage_error);
    CHECK(retired.weight == 20);
    CHECK_THROWS_AS(w.all.retire(retired), usage_error);
    w.state.modify(retired, change); // past the life cycle
    CHECK(message_of<usage_error>([&] { w.hand_over(); }) ==
          "note 1: was changed after it was retired; nothing was written. Change objects of this "
          "type through its life cycle");
    CHECK_FALSE(w.in_store(1));
    CHECK(w.state.find(id<note>(1)) == &retired);
}

TEST_CASE("only an object of the state is retired") {
    world w;
    w.three_notes();
    const note copy = w.state.get<note>(id<note>(0));
    CHECK_THROWS_AS(w.all.retire(copy), usage_error);
    w.state.remove(w.state.get<note>(id<note>(1))); // a retired one, behind the life cycle's back
    CHECK_THROWS_AS(w.hand_over(), usage_error);
}

TEST_CASE("the oldest retired objects leave first, a limited number at a time") {
    world w;
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
    world w;
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
    world ahead;
    ahead.three_notes();
    ahead.block([&] { ahead.all.retire(ahead.state.get<note>(id<note>(2))); });
    ahead.state.commit(ahead.state.revision());
    ahead.hand_over();
    const std::string digest = digest_of(ahead.all);

    world behind(std::move(ahead.rows));
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
    world ahead;
    ahead.block([&] {
        const note& renamed = write(ahead.state, "alice", "one");
        ahead.state.modify(renamed, [](note& one) { one.title = "later"; });
        ahead.all.retire(renamed);
    });
    ahead.state.commit(ahead.state.revision());
    ahead.hand_over();
    REQUIRE(ahead.all.find<by_title>("alice", "later"));

    world behind(std::move(ahead.rows));
    behind.block([&] { write(behind.state, "alice", "one"); });
    CHECK(behind.all.find<by_title>("alice", "one")->in_memory());
    CHECK_FALSE(behind.all.find<by_title>("alice", "later"));
    CHECK_FALSE(behind.all.find<by_title>("a name of more than sixteen bytes", "later"));
}

TEST_CASE("an archive that was lost is noticed when it is opened") {
    const temporary_folder folder;
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
    world w(std::move(store));
    w.three_notes();
    CHECK_THROWS_AS(w.hand_over(), io_error);
    CHECK(w.all.find(id<note>(1))->in_memory());
    CHECK(w.all.waiting() == 1);
    CHECK_THROWS_AS(w.all.find(id<note>(7)), io_error);
    disk.plug_in();
    CHECK(w.hand_over() == 1);
    disk.unplug();
    CHECK_THROWS_AS(w.all.find(id<note>(1)), io_error);
    CHECK_THROWS_AS(w.all.find<by_title>("alice", "two"), io_error);
}

TEST_CASE("keys that no object in the archive has are known without a look into it") {
    auto store = std::make_unique<fragile_store>();
    fragile_store& disk = *store;
    world w(std::move(store));
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
    world w;
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
