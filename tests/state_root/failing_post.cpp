// Work that cannot be handed to all of the threads: those that have it are done with it before the
// caller is told.
#include <chainbase/state_root/helpers.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <thread>

using namespace chainbase;

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
        state_root::helpers helping(3);
        std::atomic<int> at_work{0};
        std::atomic<int> begun{0};
        const auto work = [&](std::size_t) {
            ++at_work;
            ++begun;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            --at_work;
        };
        allocations_left = posted;
        CHECK_THROWS_AS(helping.run(1'000, work), std::bad_alloc);
        allocations_left = -1;
        CHECK(at_work == 0);
        CHECK(begun <= posted);
        const int before = begun;
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        CHECK(begun == before);
        std::atomic<std::size_t> done{0};
        helping.run(40, [&](std::size_t) { ++done; });
        CHECK(done == 40);
    }
}
