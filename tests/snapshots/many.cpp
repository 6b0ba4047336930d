// What readers of snapshots cost a writer that does not know them: many of them, ones that sleep,
// and rollbacks that never end.

#include <chainbase/snapshot/snapshot.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <sys/mount.h>
#include <sys/wait.h>
#include <tests/snapshots/sample_chain.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/lowered_limit.hpp>
#include <tests/support/mismatch.hpp>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using taken = chainbase::snapshot;

namespace {

constexpr int accounts = 2'000;

/// Whether all accounts were visited as often: a block visits each.
bool is_whole(const taken& one) {
    const std::uint32_t visits = one.get(id<account>(0)).visits;
    std::size_t seen = 0;
    for (const account& each : one.view<account, by_number>())
        seen += each.visits == visits;
    return seen == accounts;
}

/// Reads in a process of its own, again and again until a second is over.
pid_t start_reader(const std::string& state) {
    const pid_t made = fork();
    if (made != 0) return made;
    bool is_right = true;
    try {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        taken one(state);
        one.add_type<account>("account");
        for (unsigned turns = 0; turns < 2 || std::chrono::steady_clock::now() < end; ++turns) {
            try {
                is_right = is_right && is_whole(one);
                one.renew();
            } catch (const too_old_error&) { // it was starved for longer than the log reaches
            }
        }
    } catch (...) {
        is_right = false;
    }
    _exit(is_right ? 0 : 1);
}

} // namespace

TEST_CASE("a hundred readers beside a writer, each in a process of its own") {
    chain c;
    c.fill(accounts);
    c.db.commit(c.db.revision());
    std::vector<pid_t> readers;
    for (int i = 0; i < 100; ++i)
        readers.push_back(start_reader(c.state()));
    int blocks = 0, right = 0;
    for (const pid_t one : readers) {
        int status = 0;
        while (waitpid(one, &status, WNOHANG) == 0) {
            churn(c, 1);
            ++blocks;
        }
        right += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    CHECK(right == 100);
    CHECK(blocks > 10);
    churn(c, 20);
    CHECK(c.db.memory().log()->kept_bytes() == 0);
}

TEST_CASE("a reader that sleeps holds the log up to the bound, and then nothing") {
    chain c(keeping(std::uint64_t{2} << 20));
    c.fill(accounts);
    c.db.commit(c.db.revision());
    const staying_process reader([&](const auto& done) {
        const taken own(c.state());
        done();
    });
    churn(c, 15);
    CHECK(c.db.memory().log()->kept_bytes() > 0);
    churn(c, 60);
    CHECK(c.db.memory().log()->kept_bytes() == 0);
}

TEST_CASE("a snapshot that nobody reads outlives rollbacks above it, however many") {
    chain c;
    c.fill(accounts);
    c.db.commit(c.db.revision());
    c.block([&] { c.add("b", accounts); });
    const taken idle(c.db);
    std::vector<taken> between;
    for (int blocks = 0; blocks < 10; ++blocks) {
        auto block = c.db.start_session();
        for (int transactions = 0; transactions < 30; ++transactions) {
            auto kept = c.db.start_session();
            c.db.modify(c.db.get(id<account>(1)), [](account& one) { ++one.visits; });
            kept.squash();
            auto failed = c.db.start_session();
            c.add("c", accounts + 1);
            failed.undo();
        }
        block.push();
        between.emplace_back(c.db);
    }
    CHECK(idle.count<account>() == accounts + 1);
    CHECK(idle.get(id<account>(1)).visits == 0);
    for (std::size_t i = 0; i < between.size(); ++i)
        CHECK(between[i].get(id<account>(1)).visits == 30 * (i + 1));
}

TEST_CASE("a process has room for many snapshots, also where it has none for the state") {
    const scratch_folder folder;
    const std::string state = folder / "state";
    open_options options = quick_options();
    options.window_bytes = open_options::default_window_bytes;
    options.windows = open_options().windows;
    const staying_process owner([&](const auto& done) {
        database db(state, options);
        db.add_type<account>("account");
        auto block = db.start_session();
        db.create<account>([](account& made) { made.balance = 7; });
        block.push();
        done();
    });
    const lowered_limit limit(RLIMIT_AS, memory_now("VmSize") + (rlim_t{32} << 30));
    options.mode = open_mode::read_only;
    CHECK_THROWS_AS(database(state, options), limit_error);
    std::vector<taken> many;
    for (int i = 0; i < 5; ++i) {
        many.emplace_back(state);
        many.back().add_type<account>("account");
    }
    for (const taken& each : many)
        CHECK(each.get(id<account>(0)).balance == 7);
}

TEST_CASE("a state on a full disk has snapshots as any other") {
    const scratch_folder place;
    run_with_mounts(
        [&] { return mount("none", place.path().c_str(), "tmpfs", 0, "size=24m") == 0; },
        [&] {
            database db(place / "state", quick_options());
            db.add_type<account>("account");
            const auto block = [&](auto&& work) {
                auto session = db.start_session();
                work();
                session.push();
            };
            block([&] { db.create<account>([](account& made) { made.balance = 7; }); });
            std::ofstream junk(place / "junk", std::ios::binary);
            while (junk.write("0123456789abcdef", 16).flush())
                ;
            taken then(db);
            block([&] { db.remove(db.get(id<account>(0))); });
            expect(then.get(id<account>(0)).balance == 7, "as of its block");
            then.renew();
            expect(then.count<account>() == 0, "as of the next one");
        });
}

TEST_CASE("snapshots of two states in one process do not meet") {
    chain one, other;
    one.block([&] { one.add("a", 1); });
    other.block([&] { other.add("a", 2); });
    taken of_one(one.db), of_other(other.db);
    one.block([&] { one.add("b", 3); });
    other.db.undo();
    CHECK(of_one.get<account, by_name>("a").balance == 1);
    CHECK(of_other.is_too_old());
    of_other.renew();
    of_one.renew();
    CHECK(of_one.count<account>() == 2);
    CHECK(of_other.count<account>() == 0);
}
