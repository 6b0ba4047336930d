#pragma once

#include <catch2/catch.hpp>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <thread>

namespace chainbase::test {

/// Runs `work` in a process of its own (RocksDB keeps threads, which a fork loses), which is killed
/// after `life` if that is not 0. Returns how it ended, as waitpid says.
inline int in_child(const std::function<void()>& work, std::chrono::microseconds life = {}) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        try {
            work();
            ::_exit(0);
        } catch (const std::exception& problem) {
            std::fprintf(stderr, "child: %s\n", problem.what());
        }
        ::_exit(1);
    }
    if (life.count() > 0) {
        std::this_thread::sleep_for(life);
        ::kill(child, SIGKILL);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return status;
}

inline bool was_killed(int status) {
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}
inline bool worked(int status) {
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace chainbase::test
