// Threads that share work: each part is done once, a thread's exception reaches the caller, and
// work that cannot be handed to all threads is finished by those that got it before the caller sees
// the error.

#include <pool_allocator/base/thread_pool.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace chainbase;

TEST_CASE("each part of shared work is done once") {
    for (const unsigned threads : {1u, 3u}) {
        thread_pool pool(threads);
        for (const std::size_t count : {0u, 1u, 2u, 5u, 1000u}) {
            CAPTURE(threads, count);
            std::vector<std::atomic<int>> times(count);
            pool.run(count, [&](std::size_t number) { ++times[number]; });
            for (const auto& one : times)
                CHECK(one == 1);
        }
    }
}

TEST_CASE("a failure in shared work comes to the caller and the threads serve on") {
    thread_pool pool(1);
    for (std::size_t failing = 0; failing < 40; ++failing) {
        CAPTURE(failing);
        const auto work = [&](std::size_t number) {
            if (number == failing) throw std::runtime_error("one");
        };
        CHECK_THROWS_AS(pool.run(40, work), std::runtime_error);
    }
    std::atomic<std::size_t> done{0};
    pool.run(40, [&](std::size_t) { ++done; });
    CHECK(done == 40);
}

TEST_CASE("after a failure in shared work no further part is begun") {
    thread_pool pool(1);
    constexpr std::size_t count = 500;
    std::atomic<std::size_t> begun{0};
    const auto work = [&](std::size_t number) {
        ++begun;
        if (number == 0) throw std::runtime_error("the first");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    CHECK_THROWS_AS(pool.run(count, work), std::runtime_error);
    CHECK(begun < count);
}

namespace {

/// Of this thread: so many allocations succeed, the next one fails; negative: all succeed.
thread_local int allocations_left = -1;

bool is_to_fail() {
    return allocations_left >= 0 && allocations_left-- == 0;
}

} // namespace

/// Boost.Asio takes the memory for what is posted from here.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    void* place = nullptr;
    if (is_to_fail() || posix_memalign(&place, alignment, bytes) != 0) return nullptr;
    return place;
}

TEST_CASE("what was posted is done before the caller is told that more could not be") {
    for (int posted = 0; posted < 3; ++posted) {
        CAPTURE(posted);
        thread_pool pool(3);
        std::atomic<int> at_work{0};
        std::atomic<int> begun{0};
        const auto work = [&](std::size_t) {
            ++at_work;
            ++begun;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            --at_work;
        };
        allocations_left = posted;
        CHECK_THROWS_AS(pool.run(1'000, work), std::bad_alloc);
        allocations_left = -1;
        CHECK(at_work == 0);
        CHECK(begun <= posted);
        const int before = begun;
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        CHECK(begun == before);
        std::atomic<std::size_t> done{0};
        pool.run(40, [&](std::size_t) { ++done; });
        CHECK(done == 40);
    }
}
