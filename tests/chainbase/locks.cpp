// Locks between threads and between processes.

#include <chainbase/locks/process_lock.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <tests/support/one_type.hpp>
#include <tests/support/two_sides.hpp>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

// Readers under the read lock beside a writer under the write lock never see a partial change. Also
// run under the thread sanitizer.

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
        std::this_thread::yield(); // else the last block may be done before the first read
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
        while (rounds < static_cast<int>(block)) // spreads the reads over all blocks
            std::this_thread::yield();
    }
    stop = true;
    for (std::thread& reader : readers)
        reader.join();
    CHECK(torn == 0);
    CHECK(s.find(0)->value == 200);
}

namespace {

/// Threads that run until the end of a test, even if it fails.
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
    // number of reads after which readers give up on a starving writer
    std::atomic<int> patience{INT_MAX};
    crowd readers;
    for (int i = 0; i < 3; ++i) // each leaves only when another one is in, so there is no gap
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

/// How many of five queued writers come before a reader queued behind them.
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
    std::this_thread::sleep_for(std::chrono::milliseconds(10)); // most likely queued by now
    lock.unlock();
    for (std::thread& one : threads)
        one.join();
    REQUIRE(writes == 5);
    return seen;
}

} // namespace

TEST_CASE("a reader waits for one writer at most, however many stand in line") {
    int least = 5;
    for (int i = 0; i < 20 && least > 1; ++i) // a busy machine may delay it
        least = std::min(least, writers_before_reader());
    CHECK(least <= 1);
}

TEST_CASE("writers exclude each other and readers, readers do not exclude readers") {
    state_lock lock;
    std::uint64_t first = 0; // plain: the thread sanitizer reports unlocked accesses
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
        lock.lock_shared(); // does not wait for the other reader to leave
        lock.unlock_shared();
    }).join();
    lock.unlock_shared();
}

TEST_CASE("who is in keeps out whom it has to, in turn a reader and a writer") {
    state_lock lock;
    const auto read = [&] {
        lock.lock_shared();
        lock.unlock_shared();
    };
    const auto write = [&] {
        lock.lock();
        lock.unlock();
    };
    // Whether another thread is still kept out when this one leaves, some time after the other
    // came.
    const auto keeps_out = [](const auto& come_and_go, const auto& leave) {
        std::atomic<bool> comes{false};
        std::atomic<bool> went{false};
        std::thread other([&] {
            comes = true;
            come_and_go();
            went = true;
        });
        while (!comes)
            std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const bool is_outside = !went;
        leave();
        other.join();
        return is_outside;
    };
    lock.lock_shared();
    CHECK(keeps_out(write, [&] { lock.unlock_shared(); }));
    lock.lock();
    CHECK(keeps_out(read, [&] { lock.unlock(); }));
    lock.lock();
    CHECK(keeps_out(write, [&] { lock.unlock(); }));
}

// The lock between processes within one process: two databases of one state share it like any two
// processes.

namespace {

open_options to_read(std::chrono::milliseconds patience = std::chrono::minutes(5)) {
    open_options how = quick_options(open_mode::read_only);
    how.wait_for_writer = patience;
    return how;
}

std::uint32_t height_of(const two_sides& seen) {
    return seen.db.with_read_lock([&] { return seen.height().value(); });
}

/// A process that dies in the middle of a block, under the write lock.
void die_within_block(const fs::path& state) {
    const pid_t process = fork();
    REQUIRE(process >= 0);
    if (process == 0) {
        two_sides written(state);
        written.db.with_write_lock([&] {
            auto block = written.db.start_session();
            written.db.modify(written.db.get(id<item>(1)), [](item& one) { one.value += 7; });
            ::_exit(0);
        });
    }
    int status = 0;
    REQUIRE(waitpid(process, &status, 0) == process);
    REQUIRE(WEXITSTATUS(status) == 0);
}

} // namespace

TEST_CASE("a reader sees what the writer did before and waits while it is in") {
    const scratch_folder folder;
    two_sides written(folder / "state");
    const two_sides seen(folder / "state", to_read());
    random_source random(test_seed(1));
    std::atomic<bool> has_read{false};
    std::thread reader;
    written.db.with_write_lock([&] {
        reader = std::thread([&] {
            CHECK(height_of(seen) == 0);
            has_read = true;
        });
        lock_report now;
        do
            now = lock_report::read(folder / "state");
        while (now.readers.empty() || now.readers[0].what != lock_report::doing::waiting);
        CHECK(now.writer.what == lock_report::doing::inside);
        CHECK(now.writer.is_alive);
        CHECK(now.writer.process == static_cast<std::uint32_t>(getpid()));
        CHECK_FALSE(has_read);
    });
    reader.join();
    for (std::uint32_t n = 1; n <= 50; ++n) {
        written.apply_block(random);
        CHECK(height_of(seen) == n);
    }
    const lock_report now = lock_report::read(folder / "state");
    CHECK(now.writer.what == lock_report::doing::idle);
    REQUIRE(now.readers.size() == 1); // one slot for all reading threads
    CHECK(now.readers[0].what == lock_report::doing::idle);
}

TEST_CASE("a reader follows files that grow and shrink, and types that come") {
    const scratch_folder folder;
    database written(folder / "state", quick_options());
    written.add_type<item>("item");
    database seen(folder / "state", to_read());
    seen.add_type<item>("item");
    const auto count = [&] {
        return seen.with_read_lock([&] {
            std::uint32_t found = 0;
            for (const item& one : seen.view<item, by_key>())
                found += seen.find(one.id) == &one ? 1 : 0;
            CHECK(seen.count<item>() == found);
            return found;
        });
    };
    CHECK(count() == 0);
    const auto bytes = [](database& of) { return of.memory().windows()[0]->objects->bytes(); };
    for (int round = 0; round < 3; ++round) {
        written.with_write_lock([&] {
            for (std::uint32_t k = 0; k < 20'000; ++k)
                written.create<item>([&](item& one) { one.key = k; });
        });
        CHECK(count() == 20'000);
        CHECK(bytes(seen) == bytes(written));
        written.with_write_lock([&] {
            for (std::uint32_t k = 0; k < 20'000; ++k)
                if (k % 100 != 0) written.remove(written.get<item, by_key>(k));
            written.compact();
        });
        CHECK(count() == 200);
        CHECK(bytes(seen) == bytes(written));
        written.with_write_lock([&] { written.clear<item>(); });
    }
    written.add_type<card>("card");
    written.with_write_lock([&] {
        for (std::uint32_t k = 0; k < 5'000; ++k)
            written.create<card>([&](card& one) { one.key = k; });
    });
    CHECK(count() == 0);
    seen.add_type<card>("card");
    CHECK(seen.with_read_lock([&] { return seen.find<card, by_key>(4'999U) != nullptr; }));
}

TEST_CASE("more threads than a page of slots has read at once, and leave nothing behind") {
    const scratch_folder folder;
    two_sides written(folder / "state");
    constexpr int threads = 150;
    {
        const two_sides seen(folder / "state", to_read());
        std::atomic<int> inside{0};
        std::vector<std::thread> readers;
        for (int n = 0; n < threads; ++n)
            readers.emplace_back([&] {
                seen.db.with_read_lock([&] {
                    ++inside;
                    while (inside < threads)
                        std::this_thread::yield();
                });
            });
        for (std::thread& one : readers)
            one.join();
        CHECK(lock_report::read(folder / "state").readers.size() == threads);
        random_source random(test_seed(2));
        written.apply_block(random);
        CHECK(height_of(seen) == 1);
    }
    CHECK(lock_report::read(folder / "state").readers.empty());
    CHECK(fs::file_size(folder / "state" / "readers") >= threads * sizeof(reader_slot));
}

TEST_CASE("after a writer died within a block readers wait, refuse, and go on when it is undone") {
    const scratch_folder folder;
    {
        const two_sides made(folder / "state");
    }
    const two_sides seen(folder / "state", to_read(std::chrono::milliseconds(30)));
    CHECK(height_of(seen) == 0);
    die_within_block(folder / "state");
    const auto look = [&] { (void)height_of(seen); };
    CHECK_THROWS_AS(look(), unclean_error);
    CHECK_THROWS_WITH(look(), Contains("died in the middle of a change") &&
                                  Contains("Open the state for writing once"));
    CHECK_THROWS_AS(two_sides(folder / "state", to_read(std::chrono::milliseconds(30))),
                    unclean_error);
    const lock_report now = lock_report::read(folder / "state");
    CHECK_FALSE(now.writer.is_alive);
    CHECK(now.writer.what == lock_report::doing::inside);
    two_sides written(folder / "state");
    CHECK(height_of(seen) == 0);
    random_source random(test_seed(3));
    written.apply_block(random);
    CHECK(height_of(seen) == 1);
}

TEST_CASE("after a writer died between blocks readers go on") {
    const scratch_folder folder;
    {
        const two_sides made(folder / "state");
    }
    const two_sides seen(folder / "state", to_read(std::chrono::milliseconds(30)));
    const pid_t process = fork();
    if (process == 0) {
        two_sides written(folder / "state");
        random_source random(test_seed(4));
        written.apply_block(random);
        ::_exit(0);
    }
    REQUIRE(waitpid(process, nullptr, 0) == process);
    CHECK(height_of(seen) == 1);
}

TEST_CASE("a reader of what a checkpoint took the place of is told to open it again") {
    const scratch_folder folder;
    open_options how = quick_options();
    how.durability = durability::checkpoint;
    random_source random(test_seed(5));
    {
        two_sides written(folder / "state", how);
        written.apply_block(random);
        written.db.close();
    }
    const two_sides seen(folder / "state", to_read());
    CHECK(height_of(seen) == 1);
    fs::remove_all(folder / "state" / "segment"); // as a machine restart does
    const two_sides written(folder / "state", how);
    CHECK(written.db.opened().how == opening::way::restored);
    CHECK_THROWS_AS(height_of(seen), replaced_error);
    CHECK_THROWS_WITH(height_of(seen), Contains("open it again"));
    const two_sides again(folder / "state", to_read());
    CHECK(height_of(again) == 1);
}

TEST_CASE("whatever ends the writer's turn, readers get theirs") {
    const scratch_folder folder;
    auto written = std::make_unique<two_sides>(folder / "state");
    const two_sides seen(folder / "state", to_read(std::chrono::milliseconds(30)));
    CHECK_THROWS_AS(
        written->db.with_write_lock([] { throw std::runtime_error("changed my mind"); }),
        std::runtime_error);
    CHECK(height_of(seen) == 0);
    written->db.with_write_lock([&] { written->db.close(); });
    CHECK(height_of(seen) == 0);
    written = std::make_unique<two_sides>(folder / "state");
    CHECK_THROWS_AS(two_sides(folder / "state"), locked_error);
    CHECK(height_of(seen) == 0);
    written->db.with_write_lock([&] { written->db.abandon(); }); // as a kill: the turn is not ended
    CHECK_THROWS_AS(height_of(seen), unclean_error);
    written = std::make_unique<two_sides>(folder / "state");
    CHECK(height_of(seen) == 0);
}

TEST_CASE("a file of readers of before a restart is emptied, another file is refused") {
    const scratch_folder folder;
    const fs::path file = folder / "state" / "readers";
    {
        const two_sides made(folder / "state");
    }
    const auto write_at = [&](std::streamoff offset, const std::string& bytes) {
        std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
        out.seekp(offset);
        out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    };
    write_at(offsetof(reader_header, phase), std::string("\1\0\0\0", 4)); // a writer died within
    write_at(offsetof(reader_header, slots), std::string("\2\0\0\0", 4));
    write_at(reader_file::header_bytes, std::string("\1\0\0\0", 4)); // together with a reader
    CHECK_THROWS_AS(two_sides(folder / "state", to_read(std::chrono::milliseconds(1))),
                    unclean_error);
    write_at(offsetof(reader_header, boot), "of another boot");
    CHECK(height_of(two_sides(folder / "state", to_read(std::chrono::milliseconds(1)))) == 0);
    CHECK_NOTHROW(two_sides(folder / "state"));
    write_at(offsetof(reader_header, slots), "\xff\xff\xff\xff"); // above the maximum
    CHECK_NOTHROW(two_sides(folder / "state"));
    write_at(0, "something else");
    CHECK_THROWS_AS(two_sides(folder / "state", to_read()), damaged_error);
    CHECK_THROWS_WITH(two_sides(folder / "state"), Contains("readers: offset 0"));
    fs::remove(file);
    CHECK(height_of(two_sides(folder / "state", to_read())) == 0);
}
