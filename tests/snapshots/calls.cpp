// What a user of snapshots relies on: the calls, and how a snapshot ends.

#include <chainbase/snapshot/guarded_read.hpp>
#include <chainbase/snapshot/snapshot.hpp>
#include <chainbase/snapshot/snapshot_segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <undo/before_images.hpp>

#include <catch2/catch.hpp>
#include <sys/mman.h>
#include <tests/snapshots/sample_chain.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/random_source.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
using taken = chainbase::snapshot;

TEST_CASE("a snapshot shows its block while the state goes on") {
    chain c;
    const revision_number first = c.block([&] {
        for (int i = 0; i < 100; ++i)
            c.add(("a" + std::to_string(i)).c_str(), i);
        c.db.create<post>([](post& made) {
            made.author = "alice";
            made.permlink = "first";
            made.body = std::string(5000, 'x');
            made.votes = {1, 2, 3};
        });
        c.db.create<stake>([](stake& made) { made.score = 5; });
    });
    const taken then(c.db);
    CHECK(then.revision() == first);
    c.block([&] {
        c.db.modify(c.db.get<account, by_name>("a7"), [](account& a) { a.name = "gone"; });
        c.db.remove(c.db.get<account, by_name>("a8"));
        c.add("new", 1000);
        c.db.modify(*c.db.objects<post>().begin(), [](post& p) {
            p.body = "short";
            p.votes = {};
        });
        c.db.clear<stake>();
    });
    c.db.commit(c.db.revision());

    CHECK(then.count<account>() == 100);
    CHECK(then.next_id<account>() == id<account>(100));
    CHECK(then.get<account, by_name>("a7").balance == 7);
    CHECK(then.contains<account, by_name>("a8"));
    CHECK_FALSE(then.contains<account, by_name>("gone"));
    CHECK(then.find<account, by_name>("new") == nullptr);
    CHECK_THROWS_WITH((then.get<account, by_name>("new")), Contains("by_name") && Contains("new"));
    CHECK(then.get(id<account>(8)).balance == 8);
    CHECK_THROWS_AS(then.get(id<account>(100)), not_found_error);
    CHECK(then.get<account, by_number>(21U).name == "a3");
    const post& first_post = then.get<post, by_link>("alice", "first");
    CHECK(std::string_view(first_post.body) == std::string(5000, 'x'));
    CHECK(std::ranges::equal(first_post.votes, std::array{1U, 2U, 3U}));
    CHECK(then.count<stake>() == 1);

    SECTION("by every view") {
        std::vector<std::int64_t> balances;
        for (const account& one : then.view<account, by_balance>())
            balances.push_back(one.balance);
        CHECK(balances.size() == 100);
        CHECK(std::is_sorted(balances.rbegin(), balances.rend()));
        const auto by_id = then.objects<account>();
        CHECK(std::distance(by_id.begin(), by_id.end()) == 100);
        CHECK(by_id.rbegin()->balance == 99);
        CHECK(std::ranges::distance(by_id.between(id<account>(5), id<account>(9))) == 4);
        CHECK((then.count<account, by_group>(1U) == 33));
        const auto group = then.view<account, by_group>().equal_range(2U);
        CHECK(std::ranges::distance(group) == 33);
        CHECK(std::ranges::all_of(group, [](const account& a) { return a.group == 2; }));
        const auto ranked = then.view<stake, by_score>();
        CHECK(ranked.rank(ranked.nth(0)) == 0);
        const auto hashed = then.view<account, by_number>();
        CHECK(hashed.distinct() == 100);
        CHECK(std::distance(hashed.begin(), hashed.end()) == 100);
        const std::vector<std::uint64_t> numbers{7, 14, 5};
        std::array<const account*, 3> found{};
        then.find_many<account, by_number>(numbers, found);
        CHECK((found[0]->balance == 1 && found[1]->balance == 2 && found[2] == nullptr));
    }
    SECTION("by its folder") {
        taken other(c.state());
        other.add_type<account>("account");
        CHECK(other.revision() == first + 1);
        CHECK(other.contains<account, by_name>("gone"));
        CHECK_THROWS_WITH(other.count<post>(), Contains("post") && Contains("add_type"));
        CHECK(other.has_type("post"));
        CHECK_FALSE(other.has_type("nothing"));
        CHECK_THROWS_AS(other.add_type<account>("account"), usage_error);
        CHECK_THROWS_AS(other.add_type<stake>("other"), usage_error);
    }
    SECTION("by another one that takes it over") {
        taken moved(taken(c.db));
        CHECK(moved.contains<account, by_name>("gone"));
        moved = taken(c.db);
        CHECK(moved.contains<account, by_name>("gone"));
    }
}

TEST_CASE("a snapshot shows no session that is open") {
    chain c;
    c.block([&] { c.add("a", 1); });
    auto open = c.db.start_session();
    c.add("b", 2);
    const taken then(c.db);
    c.add("c", 3);
    CHECK(then.count<account>() == 1);
    open.undo();
    CHECK(then.find<account, by_name>("b") == nullptr);
    CHECK(then.get<account, by_name>("a").balance == 1);
}

TEST_CASE("what was found stays, also when the snapshot is too old") {
    chain c(keeping(0));
    c.fill(20'000);
    c.db.commit(c.db.revision());
    const taken then(c.db);
    const account& found = then.get<account, by_name>("a5");
    CHECK_FALSE(then.is_too_old());
    churn(c, 3);
    CHECK(then.is_too_old());
    CHECK(found.balance == 5);
    CHECK(found.visits == 0);
    CHECK(then.get<account, by_name>("a5").balance == 5); // its pages are there
    CHECK_THROWS_WITH((then.count<account, by_group>(1U)), Contains("snapshot_log_bytes"));
    const auto walk = [&] {
        std::size_t count = 0;
        for (const account& one : then.objects<account>())
            count += one.visits + 1;
        return count;
    };
    CHECK_THROWS_AS(walk(), too_old_error);
}

TEST_CASE("the log that a snapshot needs is kept, up to the bound, and given back afterwards") {
    chain c(keeping(std::uint64_t{8} << 20));
    c.fill(5'000);
    c.db.commit(c.db.revision());
    auto then = std::make_unique<taken>(c.db);
    churn(c, 10); // some 4 MB of log
    CHECK(c.db.memory().log()->kept_bytes() > 0);
    std::uint64_t visits = 0;
    for (const account& one : then->objects<account>())
        visits += one.visits;
    CHECK(visits == 0);
    const taken late(c.db);
    churn(c, 40);
    CHECK(then->is_too_old() == late.is_too_old());
    CHECK(late.is_too_old());
    CHECK(c.db.memory().log()->kept_bytes() <= std::uint64_t{8} << 20);
    then.reset();
    const std::uint64_t held = c.db.memory().log()->file().bytes();
    churn(c, 40);
    CHECK(c.db.memory().log()->file().bytes() == held);
}

TEST_CASE(
    "a snapshot ends with its block, with changes outside of sessions, and with the opening") {
    std::optional<chain> c(std::in_place);
    c->block([&] { c->add("a", 1); });
    const taken below(c->db);
    c->block([&] { c->add("b", 2); });
    const taken then(c->db);
    const auto ends_with = [&](const char* why, const taken& one) {
        CHECK(one.is_too_old());
        CHECK_THROWS_WITH(one.count<account>(), Contains(why));
    };
    SECTION("undone") {
        c->db.undo();
        ends_with("undone", then);
        CHECK(below.count<account>() == 1);
        CHECK(taken(c->db).count<account>() == 1);
    }
    SECTION("changed outside of sessions") {
        c->db.commit(c->db.revision());
        CHECK(then.count<post>() == 0);
        c->add("c", 3);
        ends_with("outside of sessions", then);
        CHECK(taken(c->db).count<account>() == 3);
    }
    SECTION("compacted") {
        c->db.commit(c->db.revision());
        c->db.compact();
        ends_with("compacted", then);
        CHECK(taken(c->db).count<account>() == 2);
    }
    SECTION("closed: it can be read on; opened again") {
        const std::string state = c->state();
        c->db.commit(c->db.revision());
        c->db.close();
        CHECK(then.count<account>() == 2);
        taken closed(state);
        closed.add_type<account>("account");
        CHECK(closed.count<account>() == 2);
        const database again(state, quick_options());
        CHECK(below.is_too_old());
        CHECK(closed.is_too_old());
    }
}

TEST_CASE("tables grow and outgrown areas are given back below a snapshot") {
    chain c;
    c.block([&] { c.add("a", 1); });
    c.db.commit(c.db.revision());
    auto then = std::make_unique<taken>(c.db);
    c.block([&] {
        for (int i = 2; i < 5'000; ++i)
            c.add(("a" + std::to_string(i)).c_str(), i);
    });
    c.db.commit(c.db.revision());
    CHECK(then->get<account, by_number>(7U).name == "a");
    CHECK(then->view<account, by_number>().distinct() == 1);
    const taken late(c.db);
    then.reset();
    c.block([&] { c.add("z", 6'000); });
    c.db.commit(c.db.revision());
    CHECK(late.view<account, by_number>().distinct() == 4'999);
}

TEST_CASE("many threads read one snapshot, and many snapshots are read at once") {
    chain c;
    c.fill(5'000);
    const taken then(c.db);
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            std::int64_t sum = 0;
            for (const account& one : then.view<account, by_balance>())
                sum += one.balance;
            right += sum == 4'999 * 5'000 / 2;
        });
    std::vector<std::unique_ptr<taken>> more;
    for (int i = 0; i < 20; ++i) {
        churn(c, 1);
        more.push_back(std::make_unique<taken>(c.db));
    }
    for (std::thread& thread : threads)
        thread.join();
    CHECK(right == 4);
    for (std::size_t i = 0; i < more.size(); ++i)
        CHECK(more[i]->get<account, by_name>("a77").visits == i + 1);
}

TEST_CASE("a block that ends where its chunk of the log does") {
    constexpr std::uint64_t chunk = undo_log::chunk_bytes;
    constexpr std::uint64_t most = 60'000;
    chain c;
    c.fill(5'000);
    c.db.commit(c.db.revision());
    c.block([&] {
        undo_log& log = *c.db.memory().log();
        const account& any = c.db.get<account, by_name>("a0");
        for (;;) {
            const std::uint64_t left =
                chunk - (log.words().tail - window_header::page_bytes) % chunk;
            const std::uint64_t bytes = left <= most ? left : std::min(most, left / 2 / 4 * 4);
            operation change(log, bytes);
            log.record(&any, bytes - sizeof(record_trailer));
            change.complete();
            if (bytes == left) break;
        }
    });
    before_images silent(c.db.segment_folder() + "/undo_log"); // is not announced
    silent.begin();
    const log_time end = silent.from().time;
    CHECK(end % chunk == 0);
    SECTION("is kept with it") {
        const taken then(c.db);
        churn(c, 10);
        before_images now(c.db.segment_folder() + "/undo_log");
        now.begin();
        CHECK(c.db.memory().log()->kept_bytes() / chunk ==
              now.from().time / chunk - end / chunk + 1);
        CHECK(then.get<account, by_name>("a77").visits == 0);
    }
    SECTION("is too old without it") {
        c.block([&] { c.add("b", 5'000); });
        const taken late(c.db); // needs the log from the next chunk on
        c.db.commit(c.db.revision());
        CHECK_THROWS_WITH(silent.require_usable(), Contains("snapshot_log_bytes"));
        CHECK(late.count<account>() == 5'001);
    }
}

TEST_CASE("a fork has no snapshots, and takes its own") {
    chain c;
    c.block([&] { c.add("a", 1); });
    const taken then(c.db);
    CHECK(then.count<account>() == 1);
    CHECK(succeeds_in_child([&] {
        try {
            (void)then.count<account>();
            std::abort();
        } catch (const usage_error&) {
        }
        taken own(c.state());
        own.add_type<account>("account");
        if (own.count<account>() != 1) std::abort();
    }));
    CHECK(then.get<account, by_name>("a").balance == 1);
}

TEST_CASE("a reader that was killed keeps no log") {
    chain c(keeping(std::uint64_t{4} << 20));
    c.fill(5'000);
    c.db.commit(c.db.revision());
    {
        const staying_process reader([&](const auto& done) {
            const taken own(c.state());
            done();
        });
        churn(c, 5);
        CHECK(c.db.memory().log()->kept_bytes() > 0);
    }
    churn(c, 10);
    CHECK(c.db.memory().log()->kept_bytes() == 0);
}

TEST_CASE(
    "blocks that cross chunks of the log, some of them popped: snapshots agree with a count") {
    chain c;
    c.fill(20'000);
    c.db.commit(c.db.revision());
    const std::uint64_t seed = new_seed();
    INFO("CHAINBASE_TEST_SEED=" << seed);
    random_source random(seed);
    std::uint32_t changes = 0; // each changes every account, and takes more than a chunk
    const auto visits = [&](const taken& then, std::uint32_t expected) {
        std::size_t wrong = 0;
        for (const account& one : then.objects<account>())
            wrong += one.visits != expected;
        CHECK(wrong == 0);
    };
    const auto change = [&] {
        for (const account& one : c.db.objects<account>())
            c.db.modify(one, [](account& changed) { ++changed.visits; });
    };
    for (int i = 0; i < 12; ++i) {
        const revision_number revision = c.block(change);
        ++changes;
        if (random.chance(700)) c.db.commit(revision - static_cast<int>(random.below(2)));
        if (random.chance(500) && c.db.revision() > c.db.committed_revision()) {
            c.db.undo();
            --changes;
        }
        {
            const taken then(c.db);
            CHECK(then.revision() == c.db.revision());
            visits(then, changes);
        }
        const taken before(c.db);
        const std::uint32_t then = changes;
        c.block(change);
        c.block(change);
        changes += 2;
        visits(before, then);
    }
}

TEST_CASE("a state filled outside of sessions, whose tables grew, has snapshots") {
    chain c;
    for (int i = 0; i < 2'000; ++i)
        c.add(("a" + std::to_string(i)).c_str(), i);
    const taken then(c.db);
    CHECK(then.count<account>() == 2'000);
    CHECK(then.view<account, by_number>().distinct() == 2'000);
}

TEST_CASE("a full window of the log: the writer takes back what snapshots keep") {
    open_options small = keeping(std::uint64_t{64} << 20);
    small.window_bytes = std::size_t{16} << 20;
    chain c(small);
    c.fill(5'000);
    c.db.commit(c.db.revision());
    const taken then(c.db);
    churn(c, 60); // more than the window of the log
    CHECK(then.is_too_old());
    CHECK(taken(c.db).get<account, by_name>("a1").visits == 60);
}

TEST_CASE("a writer that is killed anywhere leaves a state whose snapshots are right") {
    scratch_folder folder;
    const std::string state = folder / "state";
    for (int round = 0; round < 20; ++round) {
        const auto work = [&] {
            database db(state, quick_options());
            db.add_type<account>("account");
            for (;;) {
                auto block = db.start_session();
                db.create<account>([&](account& made) {
                    made.name = std::string_view(std::to_string(made.id.value));
                    made.number = made.id.value;
                });
                block.push();
                auto pending = db.start_session();
                pending.undo();
                if (db.revision() % 8 == 0) db.commit(db.revision());
                if (db.revision() % 5 == 0 && db.revision() > db.committed_revision()) db.undo();
            }
        };
        CHECK(run_process(work, std::chrono::milliseconds(20 + round)).killed);
        database db(state, quick_options());
        db.add_type<account>("account");
        const taken then(db);
        CHECK(then.revision() == db.revision());
        CHECK(then.count<account>() == db.count<account>());
        auto block = db.start_session();
        db.create<account>([](account& made) {
            made.name = "more";
            made.number = UINT32_MAX;
        });
        block.push();
        CHECK(then.count<account>() + 1 == db.count<account>());
        db.undo();
    }
}

TEST_CASE("a link that leads behind a snapshot ends the read, and not the process") {
    chain c;
    c.fill(1);
    constexpr std::size_t bytes = std::size_t{1} << 30;
    void* const behind =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(behind != MAP_FAILED);
    const taken one(c.db); // the kernel goes from high addresses to low ones
    REQUIRE(munmap(behind, bytes) == 0);
    if (one.memory().addresses().base() > behind) {
        WARN("skipped: the snapshot is not where it was expected");
        return;
    }
    CHECK_THROWS_AS(chainbase::detail::guarded([&] { chainbase::detail::touch(behind, 1); }),
                    damaged_error);
    CHECK(one.count<account>() == 1);
}
