// Snapshots as servers and tools use them: shared and changed for newer ones; with lost pages as
// zeros; with memory that is given back.

#include <chainbase/locks/snapshot_slots.hpp>
#include <chainbase/snapshot/read_pool.hpp>
#include <chainbase/snapshot/snapshot_segment.hpp>
#include <pool_allocator/base/error.hpp>
#include <undo/before_images.hpp>

#include <catch2/catch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/sample_types.hpp>
#include <tests/support/scratch_state.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using snapshot_of = chainbase::snapshot;
using chrono_ms = std::chrono::milliseconds;

namespace {

constexpr std::uint32_t accounts = 5'000; // over many pages
constexpr std::int64_t balance_each = 1'000;

/// Accounts whose balances have one sum in every block.
struct bank {
    bank() : db(folder / "state", quick_options()) {
        db.add_type<account>("account");
        auto block = db.start_session();
        for (std::uint32_t i = 0; i < accounts; ++i)
            db.create<account>([&](account& made) {
                made.name = std::string_view("a" + std::to_string(i));
                made.number = i;
                made.balance = balance_each;
            });
        block.push();
        db.commit(db.revision());
    }
    /// A block of transfers.
    void pay(random_source& random, int transfers) {
        auto block = db.start_session();
        for (; transfers > 0; --transfers) {
            const auto amount = static_cast<std::int64_t>(random.below(10));
            add(id<account>(random.below(accounts)), amount);
            add(id<account>(random.below(accounts)), -amount);
        }
        block.push();
    }
    [[nodiscard]] std::string state() const { return folder / "state"; }

    scratch_folder folder;
    database db;

private:
    void add(id<account> to, std::int64_t amount) {
        db.modify(db.get(to), [&](account& one) { one.balance += amount; });
    }
};

std::int64_t sum_of(const snapshot_of& from) {
    std::int64_t sum = 0;
    for (const account& one : from.objects<account>())
        sum += one.balance;
    return sum;
}

} // namespace

TEST_CASE("a pool: one snapshot for all, and a newer one once there is a newer block") {
    bank b;
    random_source random(1);
    read_pool pool(b.db, {.most_age = chrono_ms(0)});
    const auto first = pool.current();
    CHECK(pool.current() == first);
    b.pay(random, 1);
    const auto second = pool.current();
    CHECK(second->revision() == first->revision() + 1);
    CHECK(pool.current() == second);
    CHECK(pool.taken() == 2);
    SECTION("not before it is of some age") {
        read_pool slow(b.db, {.most_age = std::chrono::hours(1)});
        const auto kept = slow.current();
        b.pay(random, 1);
        CHECK(slow.current() == kept);
        b.db.undo();
        b.db.undo(); // its block
        CHECK(slow.current() != kept);
    }
    SECTION("nor before it has taken much memory") {
        read_pool small(b.db, {.most_age = chrono_ms(0), .most_bytes = 0});
        const auto one = small.current();
        CHECK(sum_of(*one) == accounts * balance_each);
        while (small.taken() < 2) { // asks for it
            CHECK(small.current());
            std::this_thread::yield();
        }
        CHECK(small.current() != one);
        CHECK(small.current()->costs().bytes < one->costs().bytes);
    }
    SECTION("from a folder") {
        read_pool other(b.state(), [](snapshot_of& one) { one.add_type<account>("account"); }, {});
        CHECK(other.read(sum_of) == accounts * balance_each);
    }
}

TEST_CASE("a pool: two snapshots are enough for threads that wait for a newer one") {
    bank b;
    random_source random(1);
    std::atomic<int> opened{0};
    read_pool pool(b.state(),
                   [&](snapshot_of& one) {
                       ++opened;
                       one.add_type<account>("account");
                   },
                   {.most_age = chrono_ms(0)});
    std::atomic<bool> is_over{false};
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i)
        readers.emplace_back([&] {
            while (!is_over)
                (void)pool.current();
        });
    while (pool.taken() < 300 && opened <= 5) {
        b.pay(random, 1);
        b.db.commit(b.db.revision());
    }
    is_over = true;
    for (std::thread& each : readers)
        each.join();
    CHECK(opened <= 5); // two, but for readers that are kept from the processor
}

TEST_CASE("a pool: nobody waits for a renewal that takes long") {
    bank b;
    random_source random(1);
    std::atomic<int> opened{0};
    std::atomic<bool> may_go_on{false};
    read_pool pool(b.state(),
                   [&](snapshot_of& one) {
                       one.add_type<account>("account");
                       if (++opened == 3) may_go_on.wait(false);
                   },
                   {});
    std::atomic<bool> is_late{false};
    auto reading = std::async(std::launch::async, [&] {
        std::vector<std::shared_ptr<const snapshot_of>> in_use; // so that a third one is opened
        for (; opened < 3 && !is_late; std::this_thread::sleep_for(chrono_ms(1)))
            in_use.push_back(pool.current());
        std::this_thread::sleep_for(chrono_ms(100)); // it is too old by the options
        return sum_of(*pool.current());
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_late && reading.wait_for(chrono_ms(1)) == std::future_status::timeout) {
        b.pay(random, 1);
        b.db.commit(b.db.revision());
        is_late = std::chrono::steady_clock::now() > end;
    }
    CHECK(opened == 3);
    CHECK_FALSE(is_late);
    may_go_on = true;
    may_go_on.notify_one();
    CHECK(reading.get() == accounts * balance_each);
}

TEST_CASE("a pool: a request that waits for long asks once") {
    bank b;
    std::atomic<int> opened{0};
    read_pool pool(b.state(),
                   [&](snapshot_of& one) {
                       ++opened;
                       one.add_type<account>("account");
                       std::this_thread::sleep_for(chrono_ms(100));
                   },
                   {});
    const auto first = pool.current();
    std::this_thread::sleep_for(chrono_ms(100)); // in which another one would be opened
    CHECK(opened == 1);
    CHECK(pool.current() == first);
}

TEST_CASE("a pool: a read whose block is undone within it is done again") {
    bank b;
    random_source random(1);
    b.pay(random, 1);
    read_pool pool(b.db);
    int calls = 0;
    const std::int64_t sum = pool.read([&](const snapshot_of& from) {
        if (++calls == 1) b.db.undo();
        return sum_of(from);
    });
    CHECK(calls == 2);
    CHECK(sum == accounts * balance_each);
    int tries = 0;
    CHECK_THROWS_AS(pool.read([&](const snapshot_of&) {
        ++tries;
        throw too_old_error("always");
    }),
                    too_old_error);
    CHECK(tries == 10);
    CHECK_THROWS_AS(pool.read([](const snapshot_of&) { throw usage_error("x"); }), usage_error);
}

TEST_CASE("a pool: many threads read whole blocks while blocks come and are undone") {
    bank b;
    const std::uint64_t seed = new_seed();
    CAPTURE(seed);
    random_source random(seed);
    read_pool pool(b.db, {.most_age = chrono_ms(1)});
    std::atomic<bool> is_over{false};
    std::atomic<std::uint64_t> right{0}, wrong{0}, given_up{0};
    const auto ask = [&] {
        while (!is_over) {
            try {
                ++(pool.read(sum_of) == accounts * balance_each ? right : wrong);
            } catch (const too_old_error&) {
                ++given_up;
            } catch (const busy_error&) { // more is undone than so many threads can read
                ++given_up;
            }
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back(ask);
    for (std::uint64_t blocks = test_operations(20'000) / 20;
         blocks > 0 || right < 50 || pool.taken() < 20; blocks -= blocks > 0) {
        if (wrong != 0) break;
        b.pay(random, 20);
        if (random.chance(100)) b.db.undo();
        if (random.chance(100)) b.db.commit(b.db.revision());
        if (random.chance(50)) std::this_thread::sleep_for(chrono_ms(2));
    }
    is_over = true;
    for (std::thread& one : threads)
        one.join();
    WARN(right << " whole sums in " << pool.taken() << " snapshots, " << given_up << " given up");
    CHECK(wrong == 0);
    CHECK(pool.taken() >= 20);
}

TEST_CASE("a reader that bears zeros gets them for pages that are lost, and is told") {
    bank b;
    random_source random(1);
    b.pay(random, 1);
    const auto taken = snapshot_segment::take(b.state(), {}, snapshot_segment::lost_page::is_zeros);
    const window& objects = *taken->find_type("account")->objects;
    const std::byte* const first = objects.base() + window_header::page_bytes;
    const std::byte* const last = objects.base() + objects.bytes() - window_header::page_bytes;
    const std::vector<std::byte> before(first, first + 64);
    CHECK(std::ranges::any_of(before, [](std::byte one) { return one != std::byte{}; }));
    CHECK_FALSE(taken->pages().has_lost_page());
    b.db.undo();
    CHECK(std::equal(before.begin(), before.end(), first)); // is there
    CHECK_FALSE(taken->pages().has_lost_page());
    CHECK(std::all_of(last, last + 64, [](std::byte one) { return one == std::byte{}; }));
    CHECK(taken->pages().has_lost_page());
    CHECK_THROWS_AS(taken->pages().require_usable(), too_old_error);
}

TEST_CASE("memory of a snapshot that is given back is filled again as of its block") {
    bank b;
    random_source random(1);
    const auto taken = snapshot_segment::take(b.state());
    const window& objects = *taken->find_type("account")->objects;
    const std::size_t bytes = objects.bytes();
    const std::vector<std::byte> before(objects.base(), objects.base() + bytes);
    b.pay(random, 1'000);
    const std::uint64_t held = taken->pages().bytes();
    taken->pages().give_back();
    CHECK(taken->pages().bytes() < held);
    CHECK(std::equal(before.begin(), before.end(), objects.base()));
    b.pay(random, 1'000);
    taken->pages().give_back();
    CHECK(std::equal(before.begin(), before.end(), objects.base()));
}

TEST_CASE("memory that is given back ends a snapshot that did not ask for it") {
    bank b;
    before_images images(b.db.segment_folder() + "/undo_log");
    images.begin();
    snapshot_slot slot(std::filesystem::path(b.state()) / "readers");
    slot.announce({images.from().time, UINT64_MAX}); // for the log alone
    for (int blocks = 0; blocks < 3; ++blocks) {
        auto block = b.db.start_session();
        for (std::uint32_t i = 0; i < 3 * accounts; ++i)
            b.db.create<account>([](account& made) {
                made.name = std::string_view("b" + std::to_string(made.id.value));
                made.number = made.id.value;
            });
        block.push();
        b.db.commit(b.db.revision());
    }
    CHECK_THROWS_WITH(images.require_usable(), Catch::Contains("given back"));
}
