#pragma once

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/wait.h>
#include <tests/tools/temporary_folder.hpp>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace chainbase::test {

/// How a run of the driver ended, and what it said.
struct driver_run {
    int status = 0;
    std::string out;
    std::string err;

    [[nodiscard]] int code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
    [[nodiscard]] bool was_killed() const {
        return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }
    [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out); }
    [[nodiscard]] bool says(std::string_view part) const {
        return err.find(part) != std::string::npos;
    }
};

/// The real chainbase-driver in a process of its own.
class driver_process {
public:
    /// `to`: where stdout goes; empty: where driver_run::out comes from.
    explicit driver_process(std::vector<std::string> arguments, const std::string& to = {}) {
        arguments.insert(arguments.begin(), CHAINBASE_DRIVER);
        std::vector<char*> raw;
        for (std::string& one : arguments)
            raw.push_back(one.data());
        raw.push_back(nullptr);
        const std::string out = to.empty() ? (said_ / "out").string() : to;
        const std::string err = said_ / "err";
        process_ = ::fork();
        if (process_ < 0) throw std::runtime_error("cannot fork");
        if (process_ == 0) {
            ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
            ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
            ::execv(raw.front(), raw.data());
            ::_exit(127);
        }
    }
    driver_process(const driver_process&) = delete;
    driver_process& operator=(const driver_process&) = delete;
    ~driver_process() {
        if (process_ > 0) {
            ::kill(process_, SIGKILL);
            ::waitpid(process_, nullptr, 0);
        }
    }

    void send(int signal) const { ::kill(process_, signal); }

    [[nodiscard]] bool is_running() const {
        siginfo_t ended{};
        return ::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) ==
                   0 &&
               ended.si_pid == 0;
    }

    /// On stderr.
    [[nodiscard]] std::string said_so_far() const { return read_file(said_ / "err"); }

    [[nodiscard]] driver_run wait() {
        driver_run run;
        ::waitpid(process_, &run.status, 0);
        process_ = 0;
        run.out = read_file(said_ / "out");
        run.err = read_file(said_ / "err");
        return run;
    }

private:
    temporary_folder said_;
    pid_t process_ = 0;
};

inline driver_run run_driver(std::vector<std::string> arguments) {
    return driver_process(std::move(arguments)).wait();
}

} // namespace chainbase::test
