// Processes that read and the one that writes are killed at any time, also while they wait for each
// other: nobody is held up by the dead, and nobody sees part of a block.

#include <chainbase/lock/process_lock.hpp>
#include <pool_allocator/error.hpp>

#include <catch2/catch.hpp>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <tests/failure/reader_processes.hpp>
#include <tests/support/failures.hpp>
#include <unistd.h>

#include <algorithm>
#include <string>

using namespace chainbase;
using namespace chainbase::test;

namespace {

/// Kills, each at another moment; more in a soak.
std::uint32_t kills(std::uint32_t usual) {
    return test_operations(0) >= 1'000'000 ? 10 * usual : usual;
}

void require_whole(process_crowd& crowd) {
    REQUIRE(crowd.board().torn == 0);
    REQUIRE(crowd.board().receding == 0);
}

/// Each does something before this returns.
void start_all(process_crowd& crowd, std::uint64_t seed, std::size_t readers) {
    crowd.start_writer(seed);
    crowd.await_blocks(1);
    for (std::size_t which = 0; which < readers; ++which)
        crowd.start_reader(which);
    crowd.await_looks(1);
}

class quiet_deaths {
public:
    quiet_deaths() { spdlog::set_level(spdlog::level::err); } // they are what this is about
    ~quiet_deaths() { spdlog::set_level(spdlog::level::warn); }
};

} // namespace

TEST_CASE("readers in other processes see whole blocks only and neither side starves") {
    const scratch_folder folder;
    process_crowd crowd(folder / "state");
    start_all(crowd, test_seed(1), 3);
    for (int round = 0; round < 20; ++round) { // each side has to get on beside the other
        crowd.await_looks(20);
        crowd.await_blocks(20);
    }
    crowd.finish();
    require_whole(crowd);
    two_sides last(folder / "state");
    CHECK(last.height().value() > 300);
}

TEST_CASE("readers are killed while they read or wait: the writer goes on") {
    const std::uint64_t seed = test_seed(2);
    random_source random(seed);
    const scratch_folder folder;
    const quiet_deaths quiet;
    process_crowd crowd(folder / "state");
    start_all(crowd, seed, 3);
    for (std::uint32_t n = 0; n < kills(100); ++n) {
        INFO("seed " << seed << ", kill " << n);
        usleep(random.below(3000));
        const std::size_t which = random.below(3);
        crowd.kill_reader(which);
        crowd.start_reader(which);
        crowd.await_blocks(2);
        require_whole(crowd);
    }
    crowd.await_looks(2);
    crowd.finish();
    require_whole(crowd);
    const lock_report left = lock_report::read(folder / "state");
    CHECK(left.readers.empty()); // those that died, too: the last one to go saw to it
    CHECK_FALSE(left.writer.is_alive);
}

TEST_CASE("the writer is killed at any time: readers wait and go on beside the next one") {
    const std::uint64_t seed = test_seed(3);
    random_source random(seed);
    const scratch_folder folder;
    const quiet_deaths quiet;
    process_crowd crowd(folder / "state");
    start_all(crowd, seed, 3);
    for (std::uint32_t n = 0; n < kills(60); ++n) {
        INFO("seed " << seed << ", kill " << n);
        usleep(random.below(4000));
        crowd.kill_writer();
        crowd.start_writer(seed + n);
        crowd.await_blocks(1);
        crowd.await_looks(1);
        require_whole(crowd);
    }
    crowd.finish();
    require_whole(crowd);
}

TEST_CASE("the writer is killed at the first, second, third ... before-image beside readers") {
    const scratch_folder folder;
    const quiet_deaths quiet;
    process_crowd crowd(folder / "state");
    start_all(crowd, test_seed(4), 2);
    crowd.kill_writer();
    for (std::uint32_t n = 0; n < kills(80); ++n) {
        INFO("killed at before-image " << n);
        crowd.start_writer(test_seed(4) + n, [n] { kill_at_nth(fault::point::log_append, 3 * n); });
        while (!crowd.writer_has_ended())
            usleep(100);
        require_whole(crowd);
    }
    crowd.start_writer(test_seed(4));
    crowd.await_looks(2);
    crowd.finish();
    require_whole(crowd);
}

TEST_CASE("a reader that is stopped while it reads is named and the writer goes on after it") {
    const scratch_folder folder;
    const auto state = folder / "state";
    process_crowd crowd(state);
    crowd.start_writer(test_seed(5));
    crowd.await_blocks(1);
    crowd.start_reader(0);
    crowd.await_looks(1);
    bool was_seen = false;
    for (int tries = 0; tries < 2000 && !was_seen; ++tries) {
        kill(crowd.reader(0), SIGSTOP);
        usleep(5000);
        const lock_report found = lock_report::read(state);
        was_seen = found.writer.what == lock_report::doing::waiting &&
                   std::any_of(found.readers.begin(), found.readers.end(), [&](const auto& one) {
                       return one.process == static_cast<std::uint32_t>(crowd.reader(0)) &&
                              one.is_alive && one.what == lock_report::doing::inside &&
                              !one.name.empty();
                   });
        if (was_seen) { // and it stays so: time does not help
            const std::uint32_t blocks = crowd.board().blocks;
            usleep(50'000);
            CHECK(crowd.board().blocks == blocks);
        }
        kill(crowd.reader(0), SIGCONT);
        crowd.await_blocks(1);
    }
    CHECK(was_seen);
    crowd.finish();
    require_whole(crowd);
}
