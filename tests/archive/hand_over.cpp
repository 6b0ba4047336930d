// Handing over in another thread, and what is durable of it.

#include <archive/open_archive.hpp>

#include <catch2/catch.hpp>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <tests/archive/note.hpp>
#include <tests/archive/world.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/trace/found.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
namespace fs = std::filesystem;

// Another thread writes the rows while the caller continues.

namespace {

/// Prevents starting threads while it lives: no stack fits in the address space.
class no_threads {
public:
    no_threads() noexcept {
        ::pthread_getattr_default_np(&before_);
        pthread_attr_t huge;
        ::pthread_attr_init(&huge);
        ::pthread_attr_setstacksize(&huge, std::size_t{1} << 50);
        ::pthread_setattr_default_np(&huge);
        ::pthread_attr_destroy(&huge);
    }
    ~no_threads() {
        ::pthread_setattr_default_np(&before_);
        ::pthread_attr_destroy(&before_);
    }
    no_threads(const no_threads&) = delete;
    no_threads& operator=(const no_threads&) = delete;

private:
    pthread_attr_t before_;
};

} // namespace

TEST_CASE("rows are written behind the caller's back, and objects leave when they are") {
    note_world w;
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
    CHECK(w.hand_over_behind(2) == 0); // the rest is too small a batch
    CHECK(w.all.in_memory() == 1);
    CHECK(w.hand_over() == 1);
    CHECK(w.all.archived() == 9);
    for (std::uint32_t n = 0; n < 9; ++n)
        CHECK(w.all.find<by_title>("alice", std::to_string(n))->get<&note::weight>() == n);
}

TEST_CASE("handing over at once finishes what is written behind, too") {
    note_world w;
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
    note_world w;
    w.retired_notes(3);
    const bool behind = GENERATE(false, true);
    if (behind) CHECK(w.hand_over_behind(3) == 0);
    CHECK(w.hand_over() == 3);
    for (int again = 0; again < 3; ++again) {
        w.state.undo();
        CHECK(w.all.in_memory() == 3);
        CHECK(w.hand_over_behind(3) == 3); // at once: no write is in progress
    }
    CHECK(w.rows->stats().batches.count() == 1);
    for (std::uint32_t n = 0; n < 3; ++n)
        CHECK_FALSE(w.all.find(id<note>(n))->in_memory());
}

TEST_CASE("what is written behind is popped and handed over like anything else") {
    const std::uint64_t seed = test_seed(12);
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    note_world w;
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

TEST_CASE("what is retired in a nested session is written before it leaves, like anything else") {
    note_world w;
    w.block([&] {
        session inner = w.state.start_session(); // its revision is above the block's
        w.all.retire(write(w.state, "alice", "nested", 1));
        inner.squash();
        w.all.retire(write(w.state, "alice", "not nested", 2));
    });
    for (int step = 0; step < 3; ++step) {
        w.state.commit(w.state.revision());
        w.hand_over();
        w.hand_over_behind(1);
        CHECK(w.all.find<by_title>("alice", "nested"));
        CHECK(w.all.find<by_title>("alice", "not nested"));
    }
    CHECK(w.all.archived() == 2);
    CHECK(w.rows->count(archive::table_id{0}) == 2);
}

TEST_CASE("nothing is waited for while rows are written, until too much waits") {
    const tracing on;
    auto store = std::make_unique<latched_store>();
    latched_store& latch = *store;
    note_world w(std::move(store));
    w.retired_notes(2);
    CHECK(w.hand_over_behind(2) == 0); // the write of these two is blocked
    while (span_called("archive.write").in_flight == 0)
        std::this_thread::yield(); // of the other thread
    for (int more = 3; more <= 7; ++more) {
        w.retired_notes(1);
        CHECK(w.hand_over_behind(2) == 0);
        for (int n = 0; n < more; ++n)
            REQUIRE(w.all.find(id<note>(static_cast<std::uint32_t>(n)))->in_memory());
        CHECK(w.all.in_memory() == static_cast<std::size_t>(more));
    }
    w.retired_notes(1); // 8 wait now, four times the batch
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
    note_world w;
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
    note_world w;
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
    note_world w;
    w.retired_notes(3);
    CHECK(w.hand_over_behind(3) == 0);
    w.retired_notes(2);
    archive::statistics_summary now;
    for (now = w.rows->stats().summarized(); now.batches.count == 0;)
        now = w.rows->stats().summarized(); // the other thread writes
    now = w.rows->stats().summarized();     // the counts from before, too
    CHECK(now.encodings.count == 1);
    CHECK(now.removals.count == 0);
    CHECK(now.objects_handed_over == 0);
    CHECK(now.largest_batch_rows == 3);
    CHECK(w.hand_over() == 5); // the written ones, and the rest
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

TEST_CASE("a write behind the caller's back that fails is thrown, and nothing is lost") {
    note_world w(std::make_unique<fragile_store>());
    w.block([&] { w.all.retire(write(w.state, "alice", "one")); });
    w.state.commit(w.state.revision());
    for (int again = 0; again < 3; ++again) {
        (void)w.all.hand_over_behind(w.state.committed_revision(), 1);
        CHECK_THROWS_AS(w.all.hand_over(w.state.committed_revision()), io_error);
        CHECK(w.all.in_memory() == 1);
        CHECK(w.all.find(id<note>(0)));
    }
}

// With durability::commit the machine loses power after objects moved to the archive: if the block
// that removed an object from memory is durable, so is the object's row.

namespace {

open_options durable() {
    open_options how = small_state();
    how.durability = durability::commit;
    how.checkpoints.interval = std::chrono::milliseconds(0);
    return how;
}

/// A state and its archive; another folder holds their synced content.
class durable_notes {
public:
    explicit durable_notes(const fs::path& folder) : folder_(folder) {
        state.add_type<note>("note");
        all.emplace(state, *rows, "note");
        copying_ = state.sync_before_checkpoints([this] {
            if (is_broken) throw io_error("rows are not on storage, as asked for");
            rows->sync();
            fs::remove_all(synced());
            fs::copy(folder_ / "rows", synced(), fs::copy_options::recursive);
        });
    }

    ~durable_notes() { copying_.reset(); } // rows are destroyed first

    template <typename Work>
    void block(Work&& work) {
        session one = state.start_session();
        work();
        one.push();
        state.commit(state.revision());
    }
    /// Ten notes, the fourth one finished.
    void write_some() {
        block([&] {
            for (int i = 0; i < 10; ++i)
                write(state, "ann", std::to_string(i), i);
        });
        block([&] { all->retire(state.get<note>(id<note>(3))); });
    }
    std::size_t hand_over() {
        std::size_t moved = 0;
        block([&] { moved = all->hand_over(state.committed_revision()); });
        return moved;
    }
    /// Removes the segment and the unsynced part of the archive.
    void lose_power() {
        state.abandon();
        all.reset();
        rows.reset();
        fs::remove_all(folder_ / "state/segment");
        fs::remove_all(folder_ / "rows");
        fs::rename(synced(), folder_ / "rows");
    }

    std::atomic<bool> is_broken = false;

private:
    [[nodiscard]] fs::path synced() const { return folder_ / "rows.synced"; }

    fs::path folder_;

public:
    database state{folder_ / "state", durable()};
    std::unique_ptr<archive::store> rows = archive::open_store(folder_ / "rows");
    std::optional<notes> all;

private:
    std::shared_ptr<void> copying_;
};

} // namespace

TEST_CASE("a row is durable where the block is that let go of its object") {
    const scratch_folder folder;
    {
        durable_notes before(folder.path());
        before.write_some();
        before.state.wait_until_durable();
        REQUIRE(before.hand_over() == 1);
        before.state.wait_until_durable();
        CHECK(before.state.checkpoints().redo->is_whole);
        before.lose_power();
    }
    durable_notes after(folder.path());
    CHECK(after.state.opened().how == opening::way::restored);
    CHECK(after.state.count<note>() == 9);
    CHECK(after.all->find(id<note>(3)));
}

TEST_CASE("a block whose rows cannot be made durable does not come to storage") {
    spdlog::set_level(spdlog::level::off);
    const scratch_folder folder;
    revision_number durable_revision = 0;
    {
        durable_notes before(folder.path());
        before.write_some();
        before.state.wait_until_durable();
        durable_revision = before.state.revision();
        before.is_broken = true;
        REQUIRE(before.hand_over() == 1);
        CHECK_THROWS_AS(before.state.wait_until_durable(), io_error);
        before.lose_power();
    }
    durable_notes after(folder.path());
    CHECK(after.state.revision() == durable_revision);
    CHECK(after.state.count<note>() == 10);
    CHECK(after.all->find(id<note>(3)));
    spdlog::set_level(spdlog::level::warn);
}
