#include <pool_allocator/error.hpp>

#include <sys/wait.h>
#include <tests/failure/reader_processes.hpp>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <utility>

namespace chainbase::test {

namespace {

void end(pid_t& process) {
    if (process == 0) return;
    kill(process, SIGKILL);
    waitpid(std::exchange(process, 0), nullptr, 0);
}

/// Between two writers there is none: then a state that was not closed cannot be opened to read.
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
            ++board.receding; // what was once seen is a whole block, which nobody takes back
        ++board.looks[which];
    }
}

} // namespace

process_crowd::process_crowd(std::filesystem::path state)
    : state_(std::move(state)), board_(in_shared_memory<crowd_board>()) {}

process_crowd::~process_crowd() {
    end(writer_);
    for (pid_t& reader : readers_)
        end(reader);
}

void process_crowd::start_writer(std::uint64_t seed, const std::function<void()>& at_begin) {
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

void process_crowd::start_reader(std::size_t which) {
    board_->heights[which] = 0;
    readers_[which] =
        fork_process([&] { look_again_and_again(*open_beside_writers(state_), *board_, which); });
}

void process_crowd::kill_writer() {
    end(writer_);
}

void process_crowd::kill_reader(std::size_t which) {
    end(readers_[which]);
}

bool process_crowd::writer_has_ended() {
    siginfo_t ended{};
    const bool has =
        waitid(P_PID, static_cast<id_t>(writer_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        ended.si_pid != 0;
    if (has) end(writer_);
    return has;
}

void process_crowd::require_running(pid_t process) const {
    siginfo_t ended{};
    const bool has_ended =
        waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        ended.si_pid != 0;
    expect(!has_ended, "process " + std::to_string(process) + " has ended");
}

void process_crowd::await_blocks(std::uint32_t more) {
    const std::uint32_t enough = board_->blocks + more;
    while (board_->blocks < enough) {
        require_running(writer_);
        usleep(200);
    }
}

void process_crowd::await_looks(std::uint32_t more) {
    for (std::size_t which = 0; which < readers_.size(); ++which) {
        if (readers_[which] == 0) continue;
        const std::uint32_t enough = board_->looks[which] + more;
        while (board_->looks[which] < enough) {
            require_running(readers_[which]);
            usleep(200);
        }
    }
}

void process_crowd::finish() {
    board_->stop = true;
    for (pid_t* process : {&writer_, &readers_[0], &readers_[1], &readers_[2], &readers_[3]}) {
        if (*process == 0) continue;
        int status = 0;
        waitpid(std::exchange(*process, 0), &status, 0);
        expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a process failed");
    }
}

} // namespace chainbase::test
