#include <catch2/catch.hpp>
#include <tests/archive/no_threads.hpp>
#include <tests/archive/world.hpp>
#include <tests/support/random_source.hpp>
#include <tests/trace/found.hpp>

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

/// Rows that a thread of its own writes, while the caller goes on.
using namespace chainbase;
using namespace chainbase::test;

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

TEST_CASE("what is retired in a nested session is written before it leaves, like anything else") {
    world w;
    w.block([&] {
        session inner = w.state.start_session(); // its revision is above that of the block
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
