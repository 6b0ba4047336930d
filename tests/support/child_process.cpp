#include <catch2/catch.hpp>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

namespace chainbase::test {

pid_t fork_process(const std::function<void()>& work) {
    const pid_t process = fork();
    if (process < 0) throw mismatch("cannot fork");
    if (process > 0) return process;
    try {
        work();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "process %d: %s\n", getpid(), e.what());
        _exit(1);
    } catch (...) { // a failed assertion has printed its message
        _exit(2);
    }
    _exit(0);
}

ending wait_for(pid_t process) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0)
        expect(errno == EINTR, "waitpid");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return {true};
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0,
           "the child process failed, status " + std::to_string(status));
    return {false};
}

ending run_process(const std::function<void()>& work, std::chrono::microseconds life) {
    const pid_t process = fork_process(work);
    if (life.count() > 0) {
        std::this_thread::sleep_for(life);
        ::kill(process, SIGKILL);
    }
    return wait_for(process);
}

bool succeeds_in_child(const std::function<void()>& work) {
    try {
        return !run_process(work).killed;
    } catch (const mismatch&) {
        return false;
    }
}

std::shared_ptr<progress> shared_progress() {
    return in_shared_memory<progress>();
}

void wait_until_ready(pid_t process, const progress& told) {
    while (told.ready == 0) {
        expect(waitpid(process, nullptr, WNOHANG) == 0, "the child process ended early");
        usleep(200);
    }
}

staying_process::staying_process(
    const std::function<void(const std::function<void()>& done)>& work) {
    const auto told = shared_progress();
    number_ = fork_process([&] {
        work([&] {
            told->ready = 1;
            for (;;)
                ::pause();
        });
    });
    try {
        wait_until_ready(number_, *told);
    } catch (...) {
        number_ = 0; // already waited for
        throw;
    }
}

void staying_process::kill() noexcept {
    if (number_ <= 0) return;
    ::kill(number_, SIGKILL);
    ::waitpid(std::exchange(number_, 0), nullptr, 0);
}

// --- mounts ---

namespace {

void write_line(const char* file, const std::string& line) {
    std::ofstream(file) << line;
}

/// Anyone may mount in a user namespace, if the kernel's owner lets anyone have one. In it this
/// user is root, so that files stay its own.
bool become_root() {
    if (::geteuid() == 0) return true;
    const std::string user = "0 " + std::to_string(::geteuid()) + " 1";
    const std::string group = "0 " + std::to_string(::getegid()) + " 1";
    if (::unshare(CLONE_NEWUSER) != 0) return false;
    write_line("/proc/self/setgroups", "deny");
    write_line("/proc/self/uid_map", user);
    write_line("/proc/self/gid_map", group);
    return ::geteuid() == 0;
}

bool own_mounts() {
    return become_root() && ::unshare(CLONE_NEWNS) == 0 &&
           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

} // namespace

void run_with_mounts(const std::function<bool()>& mount_all, const std::function<void()>& work) {
    const auto told = shared_progress();
    const ending end = run_process([&] {
        if (!own_mounts() || !mount_all()) return;
        told->ready = 1;
        work();
    });
    REQUIRE_FALSE(end.killed);
    if (told->ready == 0) WARN("skipped: may not mount");
}

} // namespace chainbase::test
