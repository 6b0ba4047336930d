// Checkpoints of a state: what is restored and when, and the reports about it.

#include <chainbase/database.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/simulated_disk.hpp>
#include <tests/support/snapshot.hpp>
#include <tests/support/world.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

struct counter {
    chainbase::id<counter> id;
    std::uint64_t value = 0;
    shared_string text;
    using keys = chainbase::keys<>;
};
BOOST_DESCRIBE_STRUCT(counter, (), (id, value, text))

class counters {
public:
    explicit counters(const fs::path& state, const open_options& how = with_checkpoints())
        : db(state, how) {
        db.add_type<counter>("counter");
    }
    void add(std::uint64_t value, std::string_view text = {}) {
        db.create<counter>([&](counter& one) {
            one.value = value;
            one.text = text;
        });
    }
    void set(std::uint32_t which, std::uint64_t value) {
        db.modify(db.get(id<counter>(which)), [&](counter& one) { one.value = value; });
    }
    [[nodiscard]] std::uint64_t value(std::uint32_t which) const {
        return db.get(id<counter>(which)).value;
    }

    database db;
};

/// Leaves what a restarted machine finds of a segment in memory.
void restart_the_machine(const fs::path& state) {
    fs::remove_all(state / "segment");
}

/// As restart_the_machine(), for a segment on a disk.
void restart_beside(const fs::path& state) {
    std::fstream header(state / "segment" / "header",
                        std::ios::binary | std::ios::in | std::ios::out);
    header.seekp(offsetof(segment_header, boot));
    header << "another boot";
}

} // namespace

TEST_CASE("a state says how it was opened") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    {
        counters some(state);
        CHECK(some.db.opened().how == opening::way::created);
        some.add(1);
        some.db.set_revision(7);
        some.db.close();
    }
    {
        counters some(state);
        CHECK(some.db.opened().how == opening::way::attached);
        CHECK(some.db.opened().revision == 7);
        some.db.abandon();
    }
    {
        counters some(state);
        CHECK(some.db.opened().how == opening::way::rolled_back);
        some.db.abandon();
    }
    restart_the_machine(state);
    CHECK_THROWS_AS(database(state, quick_options(open_mode::read_only)), error);
    counters some(state);
    CHECK(some.db.opened().how == opening::way::restored);
    CHECK(some.db.opened().generation == 1);
    CHECK(some.db.opened().revision == 7);
    CHECK_THAT(some.db.opened().why, Contains("is missing"));
    CHECK(some.value(0) == 1);
}

TEST_CASE("while a state is opened its header never says that it was closed without a checkpoint") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    counters(state).db.close();
    const auto closed = chainbase::detail::header_in(state / "segment");
    REQUIRE((closed && closed->clean == 1 && closed->generation != 0));
    const counters some(state);
    const auto opened = chainbase::detail::header_in(state / "segment");
    REQUIRE((opened && opened->clean == 0));
    CHECK(opened->generation == closed->generation); // the header was marked as open once
}

TEST_CASE("after another boot a segment is believed if it was put on storage, else not") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    open_options synced = quick_options();
    synced.sync = true;
    {
        counters some(state, synced);
        some.add(1);
        some.db.close();
    }
    restart_beside(state);
    {
        counters some(state); // with checkpoints from here on
        CHECK(some.db.opened().how == opening::way::attached);
        some.add(2);
        some.db.close();
    }
    restart_beside(state);
    CHECK_THROWS_WITH(database(state, quick_options(open_mode::read_only)),
                      Contains("restores its last checkpoint"));
    {
        counters some(state);
        CHECK(some.db.opened().how == opening::way::restored);
        CHECK_THAT(some.db.opened().why, Contains("after it was closed"));
        CHECK(some.db.count<counter>() == 2);
        some.add(3);
        some.db.abandon();
    }
    restart_beside(state);
    {
        counters some(state);
        CHECK_THAT(some.db.opened().why, Contains("while it was open"));
        CHECK(some.db.count<counter>() == 2);
        some.db.close();
    }
    {
        counters some(state, quick_options()); // without durability
        some.add(4);
        some.db.close();
    }
    restart_beside(state);
    CHECK_THROWS_WITH(counters(state), Contains("without waiting for storage"));
    restart_the_machine(state);
    CHECK(counters(state).db.count<counter>() == 2);
}

TEST_CASE("what was closed without a checkpoint has one before anything changes") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    {
        counters some(state, quick_options());
        some.add(1);
        some.db.close();
    }
    counters(state).db.abandon(); // power is lost at once
    restart_the_machine(state);
    const counters some(state);
    CHECK(some.db.opened().how == opening::way::restored);
    CHECK(some.value(0) == 1);
}

TEST_CASE("a look at a closed state changes nothing and makes no checkpoint") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    {
        counters some(state);
        some.add(1);
        some.db.close();
    }
    open_options how = with_checkpoints();
    how.durability = GENERATE(durability::process, durability::checkpoint);
    {
        counters(state, how).db.close();
    }
    restart_beside(state);
    const counters some(state);
    CHECK(some.db.opened().how == opening::way::restored);
    CHECK(some.db.opened().generation == 1);
}

TEST_CASE("what changes after a checkpoint in the middle of a session is in the next one") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    {
        counters some(state);
        some.add(1, "one");
        auto block = some.db.start_session();
        some.set(0, 2);
        some.add(10);
        CHECK(some.db.make_checkpoint().generation == 1);
        some.set(0, 3); // its before-image is in the log already
        some.set(1, 11);
        some.add(12);
        block.push();
        CHECK(some.db.make_checkpoint().generation == 2);
        some.set(0, 4);
        some.db.abandon();
    }
    restart_the_machine(state);
    {
        counters some(state);
        CHECK(some.db.opened().generation == 2);
        CHECK(some.value(0) == 3);
        CHECK(some.value(1) == 11);
        CHECK(some.value(2) == 12);
        some.db.undo();
        CHECK(some.value(0) == 1);
        CHECK(some.db.count<counter>() == 1);
        some.db.abandon();
    }
    // The first checkpoint was made in the open session, which is rolled back.
    restart_the_machine(state);
    const fs::path newest = state / "checkpoint" / "published.1";
    REQUIRE(fs::exists(newest));
    std::ofstream(newest, std::ios::in | std::ios::out) << "damage";
    counters some(state);
    CHECK(some.db.opened().generation == 1);
    CHECK_THAT(some.db.opened().why, Contains("published.1") && Contains("offset 0"));
    CHECK(some.value(0) == 1);
    CHECK(some.db.count<counter>() == 1);
}

TEST_CASE("a checkpoint writes what changed, also after the state was closed") {
    const std::string large(300'000, 'x');
    const scratch_folder folder;
    const fs::path state = folder / "state";
    {
        counters some(state);
        for (std::uint64_t i = 0; i < 20'000; ++i)
            some.add(i, "a text that takes a buffer of its own");
        CHECK(some.db.make_checkpoint().pages > 400);
        CHECK(some.db.make_checkpoint().pages < 10);
        some.set(5, 50);
        CHECK(some.db.make_checkpoint().pages < 10);
        some.add(8, large);
        CHECK(some.db.make_checkpoint().pages > large.size() / 4096);
        some.db.close();
    }
    {
        counters some(state);
        some.set(6, 60);
        CHECK(some.db.make_checkpoint().pages < 10);
        some.db.abandon();
    }
    { // a dead writer's changes are unknown: pages are compared, and not rewritten if equal
        counters some(state);
        some.set(7, 70);
        CHECK(some.db.make_checkpoint().pages < 10);
        some.db.abandon();
    }
    restart_the_machine(state);
    const counters some(state);
    CHECK(some.value(5) == 50);
    CHECK(some.value(6) == 60);
    CHECK(some.value(7) == 70);
    CHECK(some.value(19'999) == 19'999);
    CHECK(some.db.get(id<counter>(20'000)).text.view() == large);
}

TEST_CASE("without checkpoints nothing is promised beyond a kill") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    counters some(state, quick_options());
    CHECK_THROWS_WITH(some.db.make_checkpoint(), Contains("durability::process"));
    some.add(1);
    some.db.close();
    CHECK_FALSE(fs::exists(state / "checkpoint"));
}

TEST_CASE("the checkpoint of another state is not taken for one's own") {
    const scratch_folder folder;
    {
        counters(folder / "one").add(1);
    }
    {
        counters(folder / "other").add(2);
    }
    fs::remove_all(folder / "one" / "checkpoint");
    fs::copy(folder / "other" / "checkpoint", folder / "one" / "checkpoint");
    CHECK_THROWS_WITH(counters(folder / "one"), Contains("another state"));
    SECTION("after its writer died, and then nothing is rolled back") {
        {
            counters one(folder / "one", quick_options());
            one.db.start_session().push();
            one.db.abandon();
        }
        const std::string log = read_file(folder / "one" / "segment" / "undo_log");
        CHECK_THROWS_WITH(counters(folder / "one"), Contains("another state"));
        CHECK(read_file(folder / "one" / "segment" / "undo_log") == log);
    }
    SECTION("after a restart") {
        restart_beside(folder / "one");
        CHECK_THROWS_WITH(counters(folder / "one"), Contains("another state"));
        CHECK(fs::exists(folder / "one" / "segment" / "counter.objects"));
    }
}

TEST_CASE("what a state relies on is synced before its checkpoints") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    counters some(state);
    std::uint64_t synced = 0;
    const auto one = some.db.sync_before_checkpoints([&] { ++synced; });
    some.add(1);
    some.db.make_checkpoint();
    CHECK(synced == 1);
    auto other =
        some.db.sync_before_checkpoints([] { throw io_error("rows are not on storage"); }, &some);
    CHECK(some.db.sync_before_checkpoints([&] { ++synced; }, &some) == other);
    some.add(2);
    CHECK_THROWS_WITH(some.db.make_checkpoint(), Contains("rows are not on storage"));
    other.reset(); // which fails: no writer is left to sync the files
    CHECK_THROWS_WITH(some.db.make_checkpoint(), Contains("rows are not on storage"));
    CHECK_THROWS_WITH(some.db.close(), Contains("rows are not on storage"));
    some.db.abandon();
    restart_the_machine(state);
    CHECK(counters(state).db.count<counter>() == 1);
}

TEST_CASE("what a state relies on may go before it, or after it") {
    const scratch_folder folder;
    std::uint64_t synced = 0;
    std::shared_ptr<void> later;
    {
        counters some(folder / "state");
        auto sooner = some.db.sync_before_checkpoints([&] { ++synced; });
        sooner.reset();
        CHECK(synced == 1); // one last time
        some.add(1);
        some.db.make_checkpoint();
        CHECK(synced == 1);
        later = some.db.sync_before_checkpoints([&] { ++synced; });
    }
    CHECK(synced >= 2); // closing relies on it
    const std::uint64_t by_then = synced;
    later.reset();
    CHECK(synced == by_then); // no further sync
}

TEST_CASE("what a state relies on is synced before it counts as closed without checkpoints") {
    const scratch_folder folder;
    open_options how = quick_options();
    how.durability = durability::process;
    how.sync = true;
    database db(folder / "state", how);
    db.add_type<counter>("counter");
    const auto broken = db.sync_before_checkpoints([] { throw io_error("no storage"); });
    CHECK_THROWS_WITH(db.close(), Contains("no storage"));
    db.abandon();
}

TEST_CASE("what a writer that died left beside its state is synced before the next checkpoint") {
    const scratch_folder folder;
    simulated_disk disk;
    std::uint64_t synced = 0;
    disk.before = [&](simulated_disk::call which, const fs::path& file) {
        if (which != simulated_disk::call::sync_file_system) return;
        CHECK(file == folder / "state");
        ++synced;
    };
    open_options how = with_checkpoints();
    how.checkpoint_disk = &disk;
    for (const bool dies : {true, false, false}) {
        database db(folder / "state", how);
        db.add_type<counter>("counter");
        const bool had_died = db.opened().how == opening::way::rolled_back;
        CHECK(synced == 0);
        db.make_checkpoint();
        db.make_checkpoint();
        CHECK(std::exchange(synced, 0) == (had_died ? 1U : 0U));
        if (dies) db.abandon();
    }
}

TEST_CASE("a compacted state and a new type are in the next checkpoint") {
    const scratch_folder folder;
    const fs::path state = folder / "state";
    const std::string text(100'000, 'x');
    {
        database db(state, with_checkpoints());
        db.add_type<counter>("counter");
        for (std::uint64_t i = 0; i < 5'000; ++i)
            db.create<counter>([&](counter& one) {
                one.value = i;
                one.text = i % 100 == 0 ? std::string_view(text) : std::string_view("short");
            });
        db.make_checkpoint();
        for (std::uint32_t i = 0; i < 4'990; ++i)
            db.remove(db.get(id<counter>(i)));
        db.compact();
        db.add_type<account>("account");
        db.create<account>([](account& one) { one.name = "alice"; });
        db.create<counter>([&](counter& one) { one.text = text; });
        db.make_checkpoint();
        db.abandon();
    }
    restart_the_machine(state);
    database db(state, with_checkpoints());
    db.add_type<counter>("counter");
    db.add_type<account>("account");
    CHECK(db.count<counter>() == 11);
    CHECK(db.get(id<counter>(5'000)).text.view() == text);
    CHECK(db.get(id<counter>(4'999)).value == 4'999);
    CHECK(db.count<account>() == 1);
}
