// Readers and the writer are killed at any time, also while they wait for each other: dead
// processes block nobody, and nobody sees a partial block.

#include <chainbase/database.hpp>
#include <chainbase/locks/process_lock.hpp>
#include <pool_allocator/base/error.hpp>

#include <catch2/catch.hpp>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <tests/support/child_process.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/mismatch.hpp>
#include <tests/support/random_source.hpp>
#include <tests/support/scratch_state.hpp>
#include <tests/support/two_sides.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace chainbase;
using namespace chainbase::test;

namespace chainbase::test {

/// Shared memory between readers, writers and the test.
struct crowd_board {
    static constexpr std::size_t max_readers = 4;

    std::atomic<std::uint32_t> blocks{0}; ///< begun
    std::atomic<std::uint32_t> torn{0};   ///< reads that saw a partial block
    std::atomic<std::uint32_t> receding{0};
    std::atomic<bool> stop{false};
    std::array<std::atomic<std::uint32_t>, max_readers> looks{}; ///< by reader
    std::array<std::atomic<std::uint32_t>, max_readers> heights{};
};

namespace {

void end(pid_t& process) {
    if (process == 0) return;
    kill(process, SIGKILL);
    waitpid(std::exchange(process, 0), nullptr, 0);
}

/// Opens a reader; retries between two writers, when a state that was not closed cannot be opened.
std::unique_ptr<two_sides> open_beside_writers(const std::filesystem::path& state) {
    open_options how = quick_options(open_mode::read_only);
    how.wait_for_writer = std::chrono::minutes(5);
    for (;;) {
        try {
            return std::make_unique<two_sides>(state, how);
        } catch (const unclean_error&) {
            usleep(1000);
        }
    }
}

void look_again_and_again(const two_sides& seen, crowd_board& board, std::size_t which) {
    while (!board.stop) {
        const auto height = seen.db.with_read_lock([&] { return seen.height(); });
        if (!height)
            ++board.torn;
        else if (*height < board.heights[which].exchange(*height))
            ++board.receding; // a block once seen is complete and never undone
        ++board.looks[which];
    }
}

} // namespace

/// Reader and writer processes of one state, which may be killed and restarted. The destructor
/// kills the rest.
class process_crowd {
public:
    explicit process_crowd(std::filesystem::path state)
        : state_(std::move(state)), board_(in_shared_memory<crowd_board>()) {}
    ~process_crowd() {
        end(writer_);
        for (pid_t& reader : readers_)
            end(reader);
    }
    process_crowd(const process_crowd&) = delete;
    process_crowd& operator=(const process_crowd&) = delete;

    /// Starts a process that applies blocks of the seed, after calling `at_begin`.
    void start_writer(std::uint64_t seed, const std::function<void()>& at_begin = {}) {
        writer_ = fork_process([&] {
            two_sides written(state_);
            random_source random(seed);
            if (at_begin) at_begin();
            while (!board_->stop) {
                ++board_->blocks;
                written.apply_block(random);
            }
        });
    }
    /// Starts a process that reads the state repeatedly.
    void start_reader(std::size_t which) {
        board_->heights[which] = 0;
        readers_[which] = fork_process(
            [&] { look_again_and_again(*open_beside_writers(state_), *board_, which); });
    }

    void kill_writer() { end(writer_); }
    void kill_reader(std::size_t which) { end(readers_[which]); }
    /// Whether the writer ended by itself, or was killed by start_writer's `at_begin`.
    [[nodiscard]] bool writer_has_ended() {
        siginfo_t ended{};
        const bool has =
            waitid(P_PID, static_cast<id_t>(writer_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            ended.si_pid != 0;
        if (has) end(writer_);
        return has;
    }
    [[nodiscard]] pid_t reader(std::size_t which) const { return readers_[which]; }

    /// Waits until so many more blocks were begun, and each reader read so many more times. Throws
    /// mismatch when a process has ended.
    void await_blocks(std::uint32_t more) {
        const std::uint32_t enough = board_->blocks + more;
        while (board_->blocks < enough) {
            require_running(writer_);
            usleep(200);
        }
    }
    void await_looks(std::uint32_t more) {
        for (std::size_t which = 0; which < readers_.size(); ++which) {
            if (readers_[which] == 0) continue;
            const std::uint32_t enough = board_->looks[which] + more;
            while (board_->looks[which] < enough) {
                require_running(readers_[which]);
                usleep(200);
            }
        }
    }
    /// Lets all processes finish. Throws mismatch when one of them failed.
    void finish() {
        board_->stop = true;
        for (pid_t* process : {&writer_, &readers_[0], &readers_[1], &readers_[2], &readers_[3]}) {
            if (*process == 0) continue;
            int status = 0;
            waitpid(std::exchange(*process, 0), &status, 0);
            expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a process failed");
        }
    }

    [[nodiscard]] crowd_board& board() noexcept { return *board_; }

private:
    void require_running(pid_t process) const {
        siginfo_t ended{};
        const bool has_ended =
            waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            ended.si_pid != 0;
        expect(!has_ended, "process " + std::to_string(process) + " has ended");
    }

    std::filesystem::path state_;
    std::shared_ptr<crowd_board> board_;
    pid_t writer_ = 0;
    std::array<pid_t, crowd_board::max_readers> readers_{};
};

} // namespace chainbase::test

// Readers and the writer are killed at any time, also while they wait for each other: dead
// processes block nobody, and nobody sees a partial block.

namespace {

/// Number of kills, each at another moment; more in a soak.
std::uint32_t kills(std::uint32_t usual) {
    return test_operations(0) >= 1'000'000 ? 10 * usual : usual;
}

void require_whole(process_crowd& crowd) {
    REQUIRE(crowd.board().torn == 0);
    REQUIRE(crowd.board().receding == 0);
}

/// Returns after each has done something.
void start_all(process_crowd& crowd, std::uint64_t seed, std::size_t readers) {
    crowd.start_writer(seed);
    crowd.await_blocks(1);
    for (std::size_t which = 0; which < readers; ++which)
        crowd.start_reader(which);
    crowd.await_looks(1);
}

class errors_only_log {
public:
    errors_only_log() { spdlog::set_level(spdlog::level::err); } // they are what this is about
    ~errors_only_log() { spdlog::set_level(spdlog::level::warn); }
};

} // namespace

TEST_CASE("readers in other processes see whole blocks only and neither side starves") {
    const scratch_folder folder;
    process_crowd crowd(folder / "state");
    start_all(crowd, test_seed(1), 3);
    for (int round = 0; round < 20; ++round) { // each side must progress beside the other
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
    const errors_only_log quiet;
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
    CHECK(left.readers.empty()); // the last process also released the slots of dead ones
    CHECK_FALSE(left.writer.is_alive);
}

TEST_CASE("the writer is killed at any time: readers wait and go on beside the next one") {
    const std::uint64_t seed = test_seed(3);
    random_source random(seed);
    const scratch_folder folder;
    const errors_only_log quiet;
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
    const errors_only_log quiet;
    process_crowd crowd(folder / "state");
    start_all(crowd, test_seed(4), 2);
    crowd.kill_writer();
    for (std::uint32_t n = 0; n < kills(80); ++n) {
        INFO("killed at before-image " << n);
        crowd.start_writer(test_seed(4) + n,
                           [n] { kill_point(fault::point::log_append).arm(3 * n); });
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
        if (was_seen) { // and this does not change with time
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
