#include <sys/wait.h>
#include <tests/support/child_process.hpp>
#include <tests/support/mismatch.hpp>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

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

ending run_process(const std::function<void()>& work) {
    return wait_for(fork_process(work));
}

} // namespace chainbase::test
