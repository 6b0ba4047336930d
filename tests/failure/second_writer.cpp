// One writer at a time; any number of readers beside it.

#include <catch2/catch.hpp>
#include <sched.h>
#include <tests/failure/killed_chain.hpp>
#include <tests/failure/state_image.hpp>
#include <tests/support/mismatch.hpp>
#include <unistd.h>

#include <csignal>
#include <string>

using namespace chainbase;
using namespace chainbase::test;
using Catch::Matchers::Contains;

TEST_CASE("a second writer in the same process is refused and changes nothing") {
    const sample_state state;
    const database first(state.path, quick_options());
    const state_image before(state.path);
    const std::string said =
        message_of<locked_error>([&] { database second(state.path, quick_options()); });
    CHECK_THAT(said, Contains(std::to_string(getpid())));
    CHECK(state_image(state.path) == before);
}

TEST_CASE("a second writer in another process is refused until the first one is gone") {
    const sample_state state;
    const auto told = shared_progress();
    const pid_t first = fork_process([&] {
        const database db(state.path, quick_options());
        told->ready = 1;
        pause();
    });
    wait_until_ready(first, *told);
    const state_image before(state.path);
    CHECK_THAT(message_of<locked_error>([&] { database second(state.path, quick_options()); }),
               Contains(std::to_string(first)));
    CHECK(state_image(state.path) == before);
    {
        const database reader(state.path, quick_options(open_mode::read_only));
        CHECK(reader.memory().has_writer());
    }
    ::kill(first, SIGKILL);
    REQUIRE(wait_for(first).killed);
    CHECK_THROWS_AS(database(state.path, quick_options(open_mode::read_only)), unclean_error);
    open_options as_it_is = quick_options(open_mode::read_only);
    as_it_is.allow_unclean = true;
    CHECK_NOTHROW(database(state.path, as_it_is));
    CHECK_NOTHROW(state.open_and_compare());
}

TEST_CASE("of writers that start at the same time one wins") {
    const sample_state state;
    for (int round = 0; round < 40; ++round) {
        const auto told = shared_progress();
        const auto race = [&] {
            while (told->ready == 0)
                sched_yield();
            try {
                database db(state.path, quick_options());
                expect(told->inside.fetch_add(1) == 0, "two writers at a time");
                told->begun += 1;
                usleep(5000);
                told->inside -= 1; // before the lock is free for the other one
            } catch (const locked_error&) {
                told->done += 1;
            }
        };
        const pid_t one = fork_process(race);
        const pid_t two = fork_process(race);
        told->ready = 1;
        wait_for(one);
        wait_for(two);
        CHECK(told->begun >= 1);
        CHECK(told->begun + told->done == 2);
    }
    CHECK_NOTHROW(state.open_and_compare());
}
