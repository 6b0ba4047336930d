// Readers under the read lock beside a writer under the write lock never see half a change. Meant
// to run under the thread sanitizer as well.

#include <catch2/catch.hpp>
#include <tests/chainbase/small_types.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

TEST_CASE("readers see whole blocks while a writer applies and undoes them") {
    one_type<item> s;
    constexpr std::uint32_t objects = 50;
    s.db.with_write_lock([&] {
        for (std::uint32_t k = 0; k < objects; ++k)
            s.add(k);
    });
    std::atomic<bool> stop{false};
    std::atomic<int> torn{0};
    std::atomic<int> rounds{0};
    const auto read = [&] {
        while (!stop) {
            s.db.with_read_lock([&] {
                std::uint32_t sum = 0;
                std::uint32_t value = s.find(0)->value;
                for (const item& t : s.db.objects<item>()) {
                    if (t.value != value) ++torn;
                    sum += t.key;
                }
                std::uint32_t by_key_sum = 0;
                for (const item& t : s.db.view<item, by_key>())
                    by_key_sum += t.key;
                if (sum != by_key_sum || s.count() != objects) ++torn;
            });
            ++rounds;
            std::this_thread::sleep_for(std::chrono::microseconds(20)); // let the writer in
        }
    };
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i)
        readers.emplace_back(read);
    while (rounds < 3)
        std::this_thread::yield(); // else the last block may be there before the first reader
    for (std::uint32_t block = 1; block <= 200; ++block) {
        s.db.with_write_lock([&] {
            auto session = s.db.start_session();
            for (std::uint32_t i = 0; i < objects; ++i)
                s.db.modify(*s.find(i), [&](item& t) {
                    t.value = block;
                    t.key = i + 1000 * block;
                });
            if (block % 3 == 0)
                session.undo();
            else
                session.push();
            s.db.commit(s.db.revision() - 2);
        });
        while (rounds < static_cast<int>(block)) // as many looks as blocks, all along
            std::this_thread::yield();
    }
    stop = true;
    for (std::thread& reader : readers)
        reader.join();
    CHECK(torn == 0);
    CHECK(s.find(0)->value == 200);
}

namespace {

/// Threads that run until the last line of a test, however it gets there.
class crowd {
public:
    template <typename Work>
    void add(Work work) {
        threads_.emplace_back([this, work] {
            while (!stop_)
                work();
        });
    }
    ~crowd() {
        stop_ = true;
        for (std::thread& one : threads_)
            one.join();
    }

private:
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

void stay(std::chrono::microseconds duration) {
    const auto end = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < end)
        std::this_thread::yield();
}

} // namespace

TEST_CASE("a writer gets in beside readers that never pause") {
    one_type<item> s;
    std::atomic<int> inside{0};
    std::atomic<int> reads{0};
    std::atomic<int> patience{INT_MAX}; // reads at which the readers give up: the writer starves
    crowd readers;
    for (int i = 0; i < 3; ++i) // each leaves only when another one is in: there is no gap
        readers.add([&] {
            if (reads > patience) return;
            s.db.with_read_lock([&] {
                ++inside;
                stay(std::chrono::microseconds(200));
                const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
                while (inside < 2 && std::chrono::steady_clock::now() < end)
                    std::this_thread::yield();
                --inside;
            });
            ++reads;
        });
    while (reads < 3)
        std::this_thread::yield();
    for (std::uint32_t k = 0; k < 30; ++k) {
        patience = reads + 5000;
        s.db.with_write_lock([&] { s.add(k); });
        REQUIRE(reads <= patience);
    }
    CHECK(s.db.with_read_lock([&] { return s.count(); }) == 30);
}

TEST_CASE("readers get in beside writers that never pause") {
    one_type<item> s;
    std::atomic<std::uint32_t> writes{0};
    std::atomic<std::uint32_t> patience{UINT32_MAX};
    crowd writers;
    for (int i = 0; i < 2; ++i)
        writers.add([&] {
            if (writes > patience) return;
            s.db.with_write_lock([&] {
                s.add(writes++);
                stay(std::chrono::microseconds(100));
            });
        });
    while (writes < 2)
        std::this_thread::yield();
    for (int i = 0; i < 30; ++i) {
        patience = writes + 5000;
        const std::size_t count = s.db.with_read_lock([&] { return s.count(); });
        REQUIRE(writes <= patience);
        REQUIRE(count >= 2);
    }
}

namespace {

/// How many of five writers that stand in line come before a reader that stands behind them.
int writers_before_reader() {
    state_lock lock;
    std::atomic<int> writes{0};
    std::atomic<int> waiting{0};
    lock.lock();
    std::vector<std::thread> threads;
    for (int i = 0; i < 5; ++i)
        threads.emplace_back([&] {
            ++waiting;
            lock.lock();
            ++writes;
            stay(std::chrono::microseconds(100));
            lock.unlock();
        });
    while (waiting < 5)
        std::this_thread::yield();
    int seen = -1;
    threads.emplace_back([&] {
        ++waiting;
        lock.lock_shared();
        seen = writes;
        lock.unlock_shared();
    });
    while (waiting < 6)
        std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(10)); // most likely it stands there now
    lock.unlock();
    for (std::thread& one : threads)
        one.join();
    REQUIRE(writes == 5);
    return seen;
}

} // namespace

TEST_CASE("a reader waits for one writer at most, however many stand in line") {
    int least = 5;
    for (int i = 0; i < 20 && least > 1; ++i) // a busy machine may let it come late
        least = std::min(least, writers_before_reader());
    CHECK(least <= 1);
}

TEST_CASE("writers exclude each other and readers, readers do not exclude readers") {
    state_lock lock;
    std::uint64_t first = 0; // plain: the thread sanitizer sees them touched without the lock
    std::uint64_t second = 0;
    std::atomic<int> torn{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 5000; ++i) {
                lock.lock();
                ++first;
                ++second;
                lock.unlock();
            }
        });
        threads.emplace_back([&] {
            for (int i = 0; i < 5000; ++i) {
                lock.lock_shared();
                if (first != second) ++torn;
                lock.unlock_shared();
            }
        });
    }
    for (std::thread& one : threads)
        one.join();
    CHECK(torn == 0);
    CHECK(first == 10'000);

    lock.lock_shared();
    std::thread([&] {
        lock.lock_shared(); // comes back although another reader stays
        lock.unlock_shared();
    }).join();
    lock.unlock_shared();
}
