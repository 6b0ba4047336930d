// Threads that share work: each part is done once, and a failure of one comes to the caller.
#include <chainbase/state_root/helpers.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <vector>

using namespace chainbase;

TEST_CASE("each part of shared work is done once") {
    for (const unsigned threads : {1u, 3u}) {
        state_root::helpers helping(threads);
        CHECK(helping.hands() == threads + 1);
        for (const std::size_t count : {1u, 2u, 5u, 1000u}) {
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
        CHECK_THROWS_AS(helping.run(40,
                                    [&](std::size_t number) {
                                        if (number == failing) throw std::runtime_error("one");
                                    }),
                        std::runtime_error);
    }
    constexpr std::size_t many = 10'000'000;
    std::atomic<std::size_t> done{0};
    const auto fail_at_once = [&](std::size_t number) {
        if (number == 0) throw std::runtime_error("one");
        ++done;
    };
    CHECK_THROWS_AS(helping.run(many, fail_at_once), std::runtime_error);
    CHECK(done < many - 1); // the rest is left
    helping.run(0, fail_at_once);
    done = 0;
    helping.run(40, [&](std::size_t) { ++done; });
    CHECK(done == 40);
}
