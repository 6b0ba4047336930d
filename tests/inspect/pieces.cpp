// Pieces that several threads make, taken in order.
#include <pool_allocator/base/in_order.hpp>

#include <catch2/catch.hpp>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using chainbase::made_in_order;

namespace {

bool takes(int signal) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return sigismember(&blocked, signal) == 0;
}

} // namespace

TEST_CASE("pieces are taken in order, not many wait, and few threads make them") {
    std::mutex mutex;
    std::set<std::thread::id> threads;
    std::atomic<std::size_t> taken{0};
    std::atomic<bool> is_far_ahead{false};
    std::vector<std::size_t> all;
    made_in_order(
        1000, 3,
        [&](std::size_t number) {
            if (number > taken + 3 * 4) is_far_ahead = true;
            const std::lock_guard lock(mutex);
            threads.insert(std::this_thread::get_id());
            return number;
        },
        [&](std::size_t number) {
            all.push_back(number);
            ++taken;
        });
    REQUIRE(all.size() == 1000);
    CHECK(std::is_sorted(all.begin(), all.end()));
    CHECK(threads.size() <= 3);
    CHECK(!threads.contains(std::this_thread::get_id()));
    CHECK(!is_far_ahead);
}

TEST_CASE("threads that make pieces take no signals, and have a name") {
    std::atomic<bool> is_quiet{true};
    std::mutex mutex;
    std::set<std::string> names;
    made_in_order(
        20, 2,
        [&](std::size_t) {
            if (takes(SIGINT) || takes(SIGTERM) || takes(SIGWINCH)) is_quiet = false;
            char name[16] = {};
            pthread_getname_np(pthread_self(), name, sizeof name);
            const std::lock_guard lock(mutex);
            names.insert(name);
            return 0;
        },
        [](int) {});
    CHECK(is_quiet);
    CHECK(names == std::set<std::string>{"pieces"});
    CHECK(takes(SIGINT));
}

TEST_CASE("what making or taking a piece throws ends all threads, and is thrown") {
    const auto make = [](std::size_t number) {
        if (number == 50) throw std::runtime_error("made");
        return number;
    };
    CHECK_THROWS_WITH(made_in_order(100, 4, make, [](std::size_t) {}), "made");
    CHECK_THROWS_WITH(made_in_order(40, 4, make,
                                    [](std::size_t number) {
                                        if (number == 7) throw std::runtime_error("taken");
                                    }),
                      "taken");
    made_in_order(0, 4, make, [](std::size_t) { FAIL("there is none"); });
}
