// What the feed tells of blocks leads from each state to the next one, whatever the writer does.

#include <archive/record/record.hpp>
#include <chainbase/feed/log_reader.hpp>
#include <chainbase/snapshot/snapshot.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <tests/feed/told_objects.hpp>
#include <tests/snapshots/sample_chain.hpp>
#include <tests/snapshots/snapshot_oracle.hpp>
#include <tests/support/block_walk.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/operation_sequence.hpp>
#include <tests/support/world.hpp>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using feed::entry;
using feed::log_reader;
using feed::object_change;
using taken = chainbase::snapshot;

namespace {

std::int64_t balance_in(archive::bytes_view record) {
    return archive::record_view<account>(record).get<&account::balance>();
}

std::string body_in(archive::bytes_view record) {
    return std::string(archive::record_view<post>(record).get<&post::body>());
}

/// A reader, and what it told.
class follower {
public:
    follower(const std::filesystem::path& state, records begin)
        : reader_(state), all_(std::move(begin), reader_.revision()) {}

    /// Reads all that there is. Throws mismatch when an entry does not fit what it follows.
    void read() {
        for (entry one; reader_.next(one);)
            all_.take(one);
        expect(all_.revision() == reader_.revision(), "another revision than it told of");
    }
    [[nodiscard]] const told_objects& all() const noexcept { return all_; }

private:
    log_reader reader_;
    told_objects all_;
};

/// What a follower saw, of all that were lost, too.
struct outcomes {
    std::uint64_t whole = 0, pops = 0, lost = 0, irreversible = 0;

    void add(const follower& of) {
        pops += of.all().pops;
        irreversible += of.all().told;
    }
};

/// The state as its follower has to see it, and the follower.
class followed {
public:
    followed(std::filesystem::path state, world& of, outcomes& seen)
        : state_(std::move(state)), of_(of), seen_(seen) {
        look();
    }
    ~followed() {
        if (one_) seen_.add(*one_);
    }

    /// After whatever may have ended a block.
    void look() {
        const block_key now = newest_block(of_.db().memory());
        if (std::exchange(newest_, now) != now) expected_ = records_of(of_.db().memory());
    }
    void read() {
        try {
            if (!one_) one_.emplace(state_, expected_);
            one_->read();
            expect(one_->all().objects() == expected_, "the objects are other ones");
            snapshot_words words;
            std::memcpy(&words, of_.db().memory().log_file().root() + sizeof(log_words),
                        sizeof words);
            expect(one_->all().revision() == words.end.revision, "another revision");
            ++seen_.whole;
        } catch (const too_old_error&) {
            ++seen_.lost;
            if (one_) seen_.add(*one_);
            one_.reset();
        }
    }

private:
    std::filesystem::path state_;
    world& of_;
    outcomes& seen_;
    block_key newest_{};
    records expected_;
    std::optional<follower> one_;
};

walk_options unchecked(std::uint32_t objects) {
    walk_options options;
    options.changes = {.objects = objects, .spread = 10};
    options.deep_every = UINT64_MAX;
    options.refusals_watched = 0;
    return options;
}

} // namespace

TEST_CASE("an entry has each object of its block once, and what it was before") {
    chain c;
    c.block([&] {
        c.add("a", 1);
        c.add("b", 2);
        c.db.create<post>([](post& made) { made.body = std::string(100, 'x'); });
    });
    const taken at(c.db);
    log_reader from(at);
    CHECK(from.revision() == at.revision());
    const auto transaction = [&](bool fails, auto&& work) {
        auto session = c.db.start_session();
        work();
        if (fails)
            session.undo();
        else
            session.squash();
    };
    const auto set_balance = [&](std::uint32_t which, std::int64_t to) {
        c.db.modify(c.db.get(id<account>(which)), [&](account& one) { one.balance = to; });
    };
    const revision_number first = c.block([&] {
        transaction(false, [&] { set_balance(0, 10); });
        transaction(true, [&] { set_balance(1, 20); });
        transaction(false, [&] { set_balance(0, 11); });
        transaction(false, [&] {
            c.db.modify(c.db.get(id<post>(0)), [](post& one) { one.body = std::string(200, 'y'); });
            c.db.modify(c.db.get(id<post>(0)), [](post& one) { one.body = std::string(300, 'z'); });
        });
    });
    const revision_number second = c.block([&] {
        c.db.remove(c.db.get(id<account>(0)));
        c.db.remove(c.add("c", 3));
        c.add("d", 4);
        set_balance(1, 30);
        set_balance(1, 2);
    });
    c.db.commit(first);
    entry one;
    REQUIRE(from.next(one));
    CHECK((one.what == entry::kind::block && one.revision == first));
    REQUIRE(one.changes.size() == 2);
    CHECK(balance_in(one.before(one.changes[0])) == 1);
    CHECK(balance_in(one.after(one.changes[0])) == 11);
    CHECK(body_in(one.before(one.changes[1])) == std::string(100, 'x'));
    CHECK(body_in(one.after(one.changes[1])) == std::string(300, 'z'));
    REQUIRE(from.next(one));
    CHECK((one.what == entry::kind::block && one.revision == second));
    REQUIRE(one.changes.size() == 2);
    CHECK((one.changes[0].what == object_change::kind::removed && one.changes[0].id == 0));
    CHECK(balance_in(one.before(one.changes[0])) == 11);
    CHECK(one.after(one.changes[0]).empty());
    CHECK(one.changes[1].what == object_change::kind::created);
    CHECK(balance_in(one.after(one.changes[1])) == 4);
    REQUIRE(from.next(one));
    CHECK((one.what == entry::kind::irreversible && one.revision == first));
    CHECK_FALSE(from.next(one));
    c.db.undo();
    REQUIRE(from.next(one));
    CHECK((one.what == entry::kind::pop && one.revision == second));
    CHECK_FALSE(from.next(one));
    CHECK(from.revision() == first);
}

TEST_CASE("a reader tells of types that were added after it began") {
    chain c;
    c.fill(1);
    log_reader from(c.state());
    c.db.commit(c.db.revision());
    c.db.add_type<marker>("marker");
    c.block([&] { c.db.create<marker>([](marker& made) { made.high = 7; }); });
    entry one;
    for (bool is_told = false; !is_told;) {
        REQUIRE(from.next(one));
        if (one.what != entry::kind::block) continue;
        is_told = true;
        REQUIRE(one.changes.size() == 1);
        CHECK(from.types()[one.changes[0].type].name == "marker");
        CHECK(archive::record_view<marker>(one.after(one.changes[0])).get<&marker::high>() == 7);
    }
}

TEST_CASE("a reader that cannot go on says so, and a new one begins") {
    chain c(keeping(std::uint64_t{2} << 20));
    c.fill(2'000);
    c.db.commit(c.db.revision());
    log_reader from(c.state());
    entry one;
    SECTION("it is behind by more log than is kept") {
        churn(c, 60);
        CHECK_THROWS_AS(from.next(one), too_old_error);
    }
    SECTION("the state changed outside of sessions") {
        c.add("b", 3'000);
        CHECK_THROWS_AS(from.next(one), too_old_error);
    }
    SECTION("the block at which it began was undone") {
        c.block([&] { c.add("b", 3'000); });
        log_reader later(c.state());
        c.db.undo();
        CHECK_THROWS_AS(later.next(one), too_old_error);
        CHECK_FALSE(from.next(one));
    }
    SECTION("the revision was set after a block that was not read") {
        c.block([&] { c.add("a", 2'000); });
        c.db.commit(c.db.revision());
        c.db.set_revision(1'000);
        c.block([&] { c.add("b", 3'000); });
        CHECK_THROWS_AS(from.next(one), too_old_error);
    }
    SECTION("the state was opened again") {
        c.db.close();
        c.db = database(c.state(), quick_options());
        c.db.add_type<account>("account");
        CHECK_THROWS_AS(from.next(one), too_old_error);
    }
    log_reader next(c.state());
    c.block([&] { c.add("c", 4'000); });
    REQUIRE(next.next(one));
    CHECK(one.changes.size() == 1);
}

TEST_CASE("entries lead from block to block, under random changes and sessions") {
    outcomes seen;
    std::uint64_t seed = test_seed(900);
    for (const std::uint32_t objects : {5, 40, 300}) {
        const std::uint64_t steps_wanted = test_operations(30'000) / 3;
        check_random_operations(seed, steps_wanted, [&](operation_sequence& steps) {
            const scratch_folder folder;
            walk_options options = unchecked(objects);
            options.changes.tell = steps.tell();
            world w(folder / "state", options);
            random_source random(seed);
            followed state(folder / "state", w, seen);
            while (steps.next(random)) {
                w.step(random);
                state.look();
                if (random.chance(100)) state.read();
            }
        });
        ++seed;
    }
    WARN(seen.whole << " whole, " << seen.pops << " pops, " << seen.lost << " lost, "
                    << seen.irreversible << " irreversible");
    CHECK(seen.whole > test_operations(30'000) / 200);
}

TEST_CASE("entries lead from block to block, in a chain with forks") {
    outcomes seen;
    std::uint64_t seed = test_seed(910);
    for (const std::uint32_t objects : {10, 100}) {
        const scratch_folder folder;
        walk_options options = unchecked(objects);
        options.verify = false;
        world w(folder / "state", options);
        random_source random(seed++);
        w.fill(random);
        w.start();
        w.push();
        w.commit(1);
        followed state(folder / "state", w, seen);
        state.read();
        for (std::uint64_t block = 0; block < test_operations(30'000) / 20; ++block) {
            apply_block(w, random, [&] {
                state.look();
                if (random.chance(300)) state.read();
            });
            state.read();
        }
    }
    WARN(seen.whole << " whole, " << seen.pops << " pops, " << seen.lost << " lost, "
                    << seen.irreversible << " irreversible");
    CHECK(seen.lost == 0);
    CHECK(seen.pops > test_operations(30'000) / 1'000);
    CHECK(seen.irreversible > test_operations(30'000) / 1'000);
}

TEST_CASE("a follower in another thread sees each block as it was, while others are applied") {
    const scratch_folder folder;
    random_source random(test_seed(920));
    walk_options options = unchecked(60);
    options.verify = false;
    world w(folder / "state", options);
    w.fill(random);
    w.start();
    w.push();
    follower one(folder / "state", records_of(w.db().memory()));
    std::atomic<bool> is_over{false};
    std::string wrong;
    std::thread reading([&] {
        try {
            while (!is_over) {
                try {
                    one.read();
                } catch (const busy_error&) { // it can be called again
                }
            }
        } catch (const std::exception& problem) {
            wrong = problem.what();
        }
    });
    for (std::uint64_t block = 0; block < test_operations(30'000) / 3; ++block)
        apply_block(w, random, [] {});
    is_over = true;
    reading.join();
    INFO(wrong);
    REQUIRE(wrong.empty());
    one.read();
    CHECK(one.all().objects() == records_of(w.db().memory()));
    WARN(one.all().pops << " pops, " << one.all().told << " irreversible");
}
