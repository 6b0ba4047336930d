// Threads that share work: each part is done once, and a failure of one comes to the caller.
#include <chainbase/state_root/helpers.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace chainbase;

TEST_CASE("each part of shared work is done once") {
    for (const unsigned threads : {1u, 3u}) {
        state_root::helpers helping(threads);
        for (const std::size_t count : {0u, 1u, 2u, 5u, 1000u}) {
            CAPTURE(threads, count);
            std::vector<std::atomic<int>> times(count);
            helping.run(count, [&](std::size_t number) { ++times[number]; });
            for (const auto& one : times)
                CHECK(one == 1);
        }
    }
}

TEST_CASE("a failure in shared work comes to the caller and the threads serve on") {
    state_root::helpers helping(1);
    for (std::size_t failing = 0; failing < 40; ++failing) {
        CAPTURE(failing);
        const auto work = [&](std::size_t number) {
            if (number == failing) throw std::runtime_error("one");
        };
        CHECK_THROWS_AS(helping.run(40, work), std::runtime_error);
    }
    std::atomic<std::size_t> done{0};
    helping.run(40, [&](std::size_t) { ++done; });
    CHECK(done == 40);
}

TEST_CASE("after a failure in shared work no further part is begun") {
    state_root::helpers helping(1);
    constexpr std::size_t count = 500;
    std::atomic<std::size_t> begun{0};
    const auto work = [&](std::size_t number) {
        ++begun;
        if (number == 0) throw std::runtime_error("the first");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    CHECK_THROWS_AS(helping.run(count, work), std::runtime_error);
    CHECK(begun < count);
}
