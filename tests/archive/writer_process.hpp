#pragma once

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

namespace archive_test {

/// A batch_writer at work in a process of its own.
class writer_process {
public:
    writer_process(const std::string& folder, std::uint32_t from, bool ingests = false)
        : acknowledged_(from) {
        int pipe[2];
        REQUIRE(::pipe(pipe) == 0);
        const std::string start = std::to_string(from);
        child_ = ::fork();
        if (child_ == 0) {
            ::dup2(pipe[1], STDOUT_FILENO);
            ::close(pipe[0]);
            ::close(pipe[1]);
            ::execl(BATCH_WRITER, BATCH_WRITER, folder.c_str(), start.c_str(), "0", "0",
                    ingests ? "11" : "0", nullptr);
            ::_exit(127);
        }
        ::close(pipe[1]);
        listener_ = std::thread([this, from = pipe[0]] {
            std::uint32_t done = 0;
            while (::read(from, &done, sizeof done) == sizeof done)
                acknowledged_ = done;
            ::close(from);
        });
    }
    ~writer_process() {
        if (child_ > 0) kill();
    }

    /// How many batches it has said to be written.
    std::uint32_t acknowledged() const { return acknowledged_; }

    /// Waits until it has said so of `batches`; fails if that takes minutes, as when it ended.
    void wait_until_acknowledged(std::uint32_t batches) const {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
        while (acknowledged_ < batches) {
            REQUIRE(std::chrono::steady_clock::now() < deadline);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    /// Kills it; acknowledged() is final then.
    void kill() {
        ::kill(child_, SIGKILL);
        listener_.join();
        int status = 0;
        ::waitpid(child_, &status, 0);
        child_ = -1;
        CHECK(WIFSIGNALED(status)); // it had not ended by itself
    }

private:
    pid_t child_ = -1;
    std::atomic<std::uint32_t> acknowledged_;
    std::thread listener_;
};

} // namespace archive_test
